"""The core: many plans of Poisson-sampled Gaussian rounds at once, each with a certificate of its own."""
