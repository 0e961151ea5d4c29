"""Texts to vectors: one port, a local model, and any server that speaks OpenAI's embeddings API."""
