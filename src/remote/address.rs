//! Where an endpoint is, and how a client shows who it is.
//!
//! Values of headers and private keys are secrets: nothing here prints them, and no type that holds
//! one can be printed.

use std::fmt;

/// An endpoint, from `grpc://host:port` or `grpcs://host[:port]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whether what goes over the wire is encrypted (`grpcs`).
    pub encrypted: bool,
    /// The name or the number of the host.
    pub host: String,
    /// The port; of `grpcs`, 443 where none is written.
    pub port: u16,
}

impl Address {
    /// Reads an address; the error says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Address, String> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            format!(
                "`{text}` has no scheme; write grpc://HOST:PORT, or grpcs://HOST with encryption"
            )
        })?;
        let encrypted = match scheme {
            "grpc" => false,
            "grpcs" => true,
            "http" | "https" => {
                return Err(format!(
                    "{scheme}:// is another protocol; write grpc://HOST:PORT, or grpcs://HOST with encryption"
                ));
            }
            other => return Err(format!("`{other}` is no scheme; write grpc:// or grpcs://")),
        };
        let place = rest.strip_suffix('/').unwrap_or(rest);
        if place.contains('@') {
            return Err("a URL has no user and no password, which everybody could see; \
                        give --remote-header authorization=@FILE"
                .to_string());
        }
        if place.contains(['/', '?', '#']) {
            return Err(format!(
                "`{text}` has something behind host and port; --remote-instance-name names a cache there"
            ));
        }
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') && !port.contains(']') => {
                let port = port.parse().ok().filter(|port| *port > 0);
                (host, port.ok_or_else(|| format!("`{text}` has no sensible port"))?)
            }
            _ if encrypted => (place, 443),
            _ => return Err(format!("`{text}` has no port; write grpc://HOST:PORT")),
        };
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(format!("`{text}` names no host"));
        }
        Ok(Address { encrypted, host: host.to_string(), port })
    }

    /// Whether everything stays on this machine.
    pub fn is_here(&self) -> bool {
        ["localhost", "[::1]"].contains(&self.host.as_str()) || self.host.starts_with("127.")
    }

    /// The address for the library that connects.
    pub(crate) fn uri(&self) -> String {
        let scheme = if self.encrypted { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "grpcs" } else { "grpc" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// A header that goes with every request.
#[derive(Clone)]
pub struct Header {
    /// Its name, in lower case.
    pub(crate) name: String,
    pub(crate) value: String,
    /// Whether the value stood on the command line, where everybody on the machine can read it.
    open: bool,
}

/// The name of a header as requests have it.
pub(crate) fn header_name(text: &str) -> Result<String, String> {
    let name = text.trim().to_ascii_lowercase();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(allowed) {
        return Err("the name of a header has letters, digits, `-`, `_` and `.` alone".to_string());
    }
    match name.starts_with("grpc-") || name.ends_with("-bin") {
        true => Err(format!("the header `{name}` belongs to the protocol")),
        false => Ok(name),
    }
}

/// The value of a header, where it is one.
pub(crate) fn header_value(text: &str) -> Option<String> {
    let value = text.trim();
    let is_line = !value.is_empty() && value.chars().all(|c| (' '..='~').contains(&c));
    is_line.then(|| value.to_string())
}

/// A header whose name contains one of these words carries a secret.
const SECRET: [&str; 6] = ["auth", "token", "key", "secret", "password", "cookie"];

impl Header {
    /// A header from `NAME=VALUE`. The value is taken as it is, from a file (`@FILE`) or from a variable
    /// of the environment (`env:NAME`). `read` reads a file, `variable` a variable.
    pub fn parse(
        text: &str,
        read: impl Fn(&str) -> Result<String, String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Header, String> {
        let Some((name, value)) = text.split_once('=') else {
            // The argument may be a secret, so it is not repeated.
            return Err("a header is NAME=VALUE, NAME=@FILE or NAME=env:VARIABLE".to_string());
        };
        let name = header_name(name)?;
        let mut open = false;
        let value = if let Some(path) = value.strip_prefix('@') {
            read(path).map_err(|e| format!("header `{name}`: cannot read {path}: {e}"))?
        } else if let Some(name_of) = value.strip_prefix("env:") {
            variable(name_of)
                .ok_or_else(|| format!("header `{name}`: the variable {name_of} is not set"))?
        } else {
            open = true;
            value.to_string()
        };
        let value = header_value(&value).ok_or_else(|| {
            format!("header `{name}`: its value is empty, or is no line of ASCII text")
        })?;
        let header = Header { name, value, open };
        if header.open && SECRET.iter().any(|word| header.name.contains(word)) {
            let name = &header.name;
            return Err(format!(
                "header `{name}`: everybody on this machine can see the command line; \
                 write the value into a file and give {name}=@FILE, or into a variable and give {name}=env:VARIABLE"
            ));
        }
        Ok(header)
    }

    pub(crate) fn is_secret(&self) -> bool {
        !self.open
    }
}

/// Certificates, as PEM texts.
#[derive(Clone, Default)]
pub struct Tls {
    /// Who may sign the server's certificate; the system's authorities where it is left out.
    pub authority: Option<Vec<u8>>,
    /// The client's own certificate and its private key.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, String> {
        let read = |path: &str| match path {
            "token" => Ok("Bearer of-a-file\n".to_string()),
            _ => Err("no such file".to_string()),
        };
        Header::parse(text, read, |name| (name == "TOKEN").then(|| "of-the-env".to_string()))
    }

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown) in [
            ("grpc://localhost:8980", "grpc://localhost:8980"),
            ("grpcs://cache.example.org", "grpcs://cache.example.org:443"),
            ("grpcs://cache.example.org:1985/", "grpcs://cache.example.org:1985"),
            ("grpc://[::1]:50051", "grpc://[::1]:50051"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), shown);
        }
        assert!(Address::parse("grpc://[::1]:50051").unwrap().is_here());
        assert!(!Address::parse("grpcs://cache.example.org").unwrap().is_here());
    }

    #[test]
    fn an_address_that_is_none_says_what_to_write() {
        for (text, words) in [
            ("localhost:8980", "no scheme"),
            ("http://localhost:8980", "another protocol"),
            ("ftp://localhost", "no scheme; write"),
            ("grpc://localhost", "no port"),
            ("grpc://localhost:0", "no sensible port"),
            ("grpc://:80", "names no host"),
            ("grpcs://host/main", "--remote-instance-name"),
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let error = Address::parse("grpcs://user:sesame@host").unwrap_err();
        assert!(error.contains("--remote-header") && !error.contains("sesame"), "{error}");
    }

    #[test]
    fn secrets_come_from_files_and_from_the_environment() {
        assert_eq!(header("authorization=@token").unwrap().value, "Bearer of-a-file");
        assert_eq!(header("X-Api-Key=env:TOKEN").unwrap().value, "of-the-env");
        assert!(!header("x-team=compilers").unwrap().is_secret());
        for (text, words) in [
            ("authorization=Bearer sesame", "everybody on this machine"),
            ("authorization=@none", "no such file"),
            ("authorization=env:NONE", "is not set"),
            ("Bearer sesame", "NAME=VALUE"),
            ("x y=1", "letters"),
            ("grpc-timeout=1S", "belongs to the protocol"),
        ] {
            let error = header(text).err().unwrap();
            assert!(error.contains(words) && !error.contains("sesame"), "{text}: {error}");
        }
    }
}
