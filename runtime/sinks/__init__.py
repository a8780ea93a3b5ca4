"""Where metrics go besides `metrics.jsonl`: TensorBoard, W&B, MLflow. Each package is imported only when it is asked
for, and everything they are given stands in `metrics.jsonl` too."""
