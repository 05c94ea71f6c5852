"""The grid engine: an upper and a lower law of the losses on a tilted grid, composed by Fourier transform."""
