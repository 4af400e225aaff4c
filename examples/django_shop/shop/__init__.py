"""A shop with Django: an order and its tasks are one transaction, and a durable workflow fulfils the order."""
