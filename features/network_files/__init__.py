"""Networks that came in other formats as ONNX: `onnx_writer` (a model's bytes), `tflite` (what TensorFlow Lite has)."""
