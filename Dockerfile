# The server as an image: one static binary and nothing else. `make image` builds the binary
# (bin/mcp-sandbox) and then this. An MCP client starts it like so:
#
#   docker run -i --rm --hostname mcp-sandbox -v mcp-sandbox-data:/data \
#     --group-add "$(stat -c %g /var/run/docker.sock)" --read-only --cap-drop ALL \
#     --security-opt no-new-privileges -v /var/run/docker.sock:/var/run/docker.sock mcp-sandbox/server
#
# It runs as a user of its own, to whom the group of the socket is given (Docker Desktop: 0).
# Whoever holds the Docker socket is root on the host: see docs/security.md. Keep the host
# name: under another one the data directory counts as a copy of itself, and sandboxes that
# are alive are lost to it.
FROM scratch
COPY bin/mcp-sandbox /mcp-sandbox
# An empty /data of mode 0700: a new volume takes its owner and mode from it.
COPY --chown=65532:65532 bin/rootfs/ /
ENV AGENT_SANDBOX_DATA_DIR=/data
VOLUME /data
USER 65532:65532
ENTRYPOINT ["/mcp-sandbox"]
CMD ["stdio"]
