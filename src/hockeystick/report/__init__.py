"""Text for people: numbers rounded outward, the sentence to quote, the table of supported combinations."""
