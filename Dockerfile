# The server as an image: one static binary and nothing else. `make image` builds the binary
# (bin/mcp-sandbox) and then this.
#
#   docker run -d --name mcp-sandbox --hostname mcp-sandbox -p 127.0.0.1:8080:8080 \
#     -v /var/run/docker.sock:/var/run/docker.sock -v mcp-sandbox-data:/data \
#     -e AGENT_SANDBOX_API_KEYS=… mcp-sandbox/server
#
# Whoever holds the Docker socket is root on the host: see docs/security.md. Keep the host
# name: with the data directory it tells this server's sandboxes from another's.
FROM scratch
COPY bin/mcp-sandbox /mcp-sandbox
ENV AGENT_SANDBOX_HOST=0.0.0.0 AGENT_SANDBOX_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["/mcp-sandbox"]
CMD ["serve"]
