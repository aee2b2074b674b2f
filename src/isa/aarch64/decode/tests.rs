//! Encodings and their text.
