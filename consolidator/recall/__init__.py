"""Recall: which memories answer a question. What is scored and chosen, without a store; `recall.py` asks the store."""
