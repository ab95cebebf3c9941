"""Embedders, which make vectors: `static` in the process, offline; `onnx` from a folder; `small`, which is these two
together; `endpoint` over HTTP; `bedrock` at AWS.

Here: models, their files and servers, and how near unrelated and new texts lie (`calibration`). Not here:
chunking, searching, storing. Only `runtime` imports it; each library is imported at first use.
"""
