#!/usr/bin/env bash
# Build the two container images with buildah, which needs no daemon, into .build/image/store: steeltrap and
# steeltrap:small. Where Debian's image can't be pulled, mmdebstrap makes one from Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/.."
store=$PWD/.build/image/store
mkdir -p "$store"
in_store() { buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }

debian=$(sed -n 's/^ARG DEBIAN=//p' Dockerfile)
if ! in_store inspect localhost/debian >/dev/null 2>&1; then
  if in_store pull --quiet "$debian" >/dev/null 2>&1; then
    in_store tag "$debian" localhost/debian
  else
    release=${debian#debian:}
    # With the certificates of this machine: packages may come through a proxy of its own.
    mmdebstrap --quiet --variant=apt --include=ca-certificates \
      --customize-hook='upload /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates/machine.crt' \
      --customize-hook='chroot "$1" update-ca-certificates' "${release%-slim}" "$store/debian.tar"
    empty=$(in_store from scratch)
    in_store add --quiet "$empty" "$store/debian.tar" /
    in_store commit --quiet --rm "$empty" localhost/debian
    rm "$store/debian.tar"
  fi
fi
for embedder in static-256 small; do
  tag=steeltrap$([ "$embedder" = small ] && echo :small || true)
  in_store build --format docker --quiet --isolation chroot --build-arg DEBIAN=localhost/debian \
    --build-arg EMBEDDER="$embedder" --tag "$tag" .
done
