# `recollect serve` for any place that runs containers; docs/other-clouds.md says how.
FROM python:3.13-slim AS build
# wordllama has no wheel for arm64.
RUN apt-get update && apt-get install --yes --no-install-recommends build-essential
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY shared shared
RUN python -m venv /app && /app/bin/pip install --no-cache-dir -c constraints.txt ".[aws,bedrock]"

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin recollect \
    && install --directory --owner=recollect --group=recollect --mode=0700 /data
COPY --from=build /app /app
ENV PATH="/app/bin:$PATH" RECOLLECT_DATA=/data
USER 10001:10001
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=3)"]
ENTRYPOINT ["recollect"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8765"]
