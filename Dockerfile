# The server as an image: one static binary and nothing else. `make image` builds the binary
# (bin/mcp-sandbox) and then this. An MCP client starts it like so:
#
#   docker run -i --rm --hostname mcp-sandbox -v mcp-sandbox-data:/data \
#     -v /var/run/docker.sock:/var/run/docker.sock mcp-sandbox/server
#
# Whoever holds the Docker socket is root on the host: see docs/security.md. Keep the host
# name: under another one the data directory counts as a copy of itself, and sandboxes that
# are alive are lost to it.
FROM scratch
COPY bin/mcp-sandbox /mcp-sandbox
ENV AGENT_SANDBOX_DATA_DIR=/data
VOLUME /data
ENTRYPOINT ["/mcp-sandbox"]
CMD ["stdio"]
