"""Measuring: finds missing points, orders them, starts them and saves them."""
