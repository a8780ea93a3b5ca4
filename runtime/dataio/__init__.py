"""The data loader: a C++20 core with its own threads, and its thin Python face."""
