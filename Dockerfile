# `steeltrap serve` for any place that runs containers; docs/other-clouds.md says how. The image holds Python, what
# Python needs of Debian, and the product: no shell, no package manager.
#
# A second image has the embedder `small`: docker build --build-arg EMBEDDER=small -t steeltrap:small .
# A digest is stricter than a tag: docker build --build-arg DEBIAN=debian@sha256:... -t steeltrap .
ARG DEBIAN=debian:trixie-slim

FROM ${DEBIAN} AS build
WORKDIR /source
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends binutils ca-certificates python3-venv
# Python and whatever it depends on, as if nothing were installed; packages are unpacked, and nothing of them is run.
# hadolint ignore=DL3008
RUN mkdir --parents /debs/partial /runtime/etc/ssl/certs \
    && apt-get --option Dir::State::status=/dev/null --option Dir::Cache::archives=/debs install --yes \
       --no-install-recommends --download-only base-files libstdc++6 netbase python3 tzdata \
    && find /debs -name '*.deb' -exec dpkg-deb --extract '{}' /runtime ';' \
    && rm -r /runtime/usr/share/doc /runtime/usr/share/man /runtime/usr/share/locale \
    && cp /etc/ssl/certs/ca-certificates.crt /runtime/etc/ssl/certs/
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY locks locks
# Every package by the hash in the lock files, those that build other packages too.
ENV PIP_NO_CACHE_DIR=1 PIP_REQUIRE_HASHES=1 PIP_CONSTRAINT=/source/constraints.txt PIP_BUILD_CONSTRAINT=/source/constraints.txt
RUN python3 -m venv /build && PIP_CONSTRAINT='' /build/bin/pip install --requirement locks/pip.txt \
    && /build/bin/pip install --group build \
    && python3 -m venv --without-pip /app \
    && /build/bin/pip --python /app/bin/python install --no-compile --requirement locks/product.txt boto3 opensearch-py --group log --group log-postgres
COPY shared shared
COPY models/small models/small
ARG EMBEDDER=static-256
RUN if [ "${EMBEDDER}" = small ]; then \
      /build/bin/pip --python /app/bin/python install --no-compile onnxruntime tokenizers && more=./models/small; \
    fi \
    && export PIP_REQUIRE_HASHES='' PIP_CONSTRAINT='' PIP_BUILD_CONSTRAINT='' \
    && /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . ${more:+"$more"} \
    && /build/bin/pip --python /app/bin/python install --no-compile --no-deps /wheels/*.whl
# What nothing here imports: what opensearch-py's gRPC and the tokenizers' downloads are made of, SQLite's other programs
# and extensions, the descriptions of services of AWS that are not called, and what only compilers read. The rest is
# compiled once, since the image is read-only where it runs.
WORKDIR /app/lib/python3.13/site-packages
RUN rm -rf grpc google/protobuf google/_upb opensearch hf_xet huggingface_hub fsspec \
       apsw/tests apsw/fts_test_strings apsw/sqlite_extra_binaries \
       numpy/tests numpy/*/tests numpy/f2py numpy/_core/include numpy/_core/lib \
    && find . \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.a' \) -delete \
    && find botocore/data -mindepth 1 -maxdepth 1 -type d -regextype posix-extended \
       ! -regex '.*/(dynamodb|dynamodbstreams|s3|sqs|sts|sso|sso-oidc|signin|bedrock-runtime)' -exec rm -r {} + \
    && find . -type f -name '*.so*' -exec strip --strip-unneeded {} + \
    && /app/bin/python -m compileall -q -j 0 . \
    && install --directory --owner=10001 --group=10001 --mode=0700 /data

FROM scratch
ARG EMBEDDER=static-256
COPY --from=build /runtime /
COPY --from=build /app /app
COPY --from=build --chown=10001:10001 /data /data
ENV PATH="/app/bin:/usr/bin" HOME=/data STEELTRAP_DATA=/data STEELTRAP_EMBEDDER=${EMBEDDER}
USER 10001:10001
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["/app/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=3)"]
ENTRYPOINT ["/app/bin/steeltrap"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8765"]
