"""Delegation: roles, the queue, and whole delegations against a real daemon."""
