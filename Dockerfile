# `steeltrap serve` for any place that runs containers; docs/other-clouds.md says how.
# A digest is stricter still: docker build --build-arg PYTHON=python@sha256:...
ARG PYTHON=python:3.13.16-slim-bookworm
FROM ${PYTHON} AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY locks locks
# Every package by the hash in the lock files, those that build other packages too.
ENV PIP_NO_CACHE_DIR=1 PIP_REQUIRE_HASHES=1 PIP_CONSTRAINT=/source/constraints.txt PIP_BUILD_CONSTRAINT=/source/constraints.txt
RUN for each in /app /build; do \
      python -m venv $each && PIP_CONSTRAINT= $each/bin/pip install --requirement locks/pip.txt || exit 1; \
    done \
    && /app/bin/pip install --requirement locks/product.txt boto3 opensearch-py onnxruntime \
    && /build/bin/pip install --group build
COPY models/small models/small
COPY shared shared
RUN PIP_REQUIRE_HASHES= PIP_CONSTRAINT= /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . ./models/small \
    && PIP_REQUIRE_HASHES= PIP_CONSTRAINT= /app/bin/pip install --no-deps /wheels/*.whl

FROM ${PYTHON}
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin steeltrap \
    && install --directory --owner=steeltrap --group=steeltrap --mode=0700 /data
COPY --from=build /app /app
ENV PATH="/app/bin:$PATH" STEELTRAP_DATA=/data
USER 10001:10001
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=3)"]
ENTRYPOINT ["steeltrap"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8765"]
