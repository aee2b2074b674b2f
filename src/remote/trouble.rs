//! Why a request failed, and what that means for those that follow.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use tonic::{Code, Status};

use crate::Options;

/// The kind of a failure, which decides whether later requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The server is not there, or is too slow. It may come back.
    Gone,
    /// The server does not let this client do that.
    Refused,
    /// The server does not have it.
    Missing,
    /// The server cannot do what was asked, or does not understand it.
    Unable,
}

/// A failed request. Its words hold no secret.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// The kind.
    pub(crate) meaning: Meaning,
    /// Why it failed, for people.
    pub words: String,
    /// Whether it is worth to ask again at once.
    pub(crate) passing: bool,
    /// Whether something has to be there first: a blob, or a worker of the kind that was asked for.
    pub(crate) unmet: bool,
}

/// Words in messages of a connection that the server ended. A server that misses a certificate says so in
/// an alert and closes; which of the two the client sees first is a race.
const ENDED: [&str; 7] = [
    "alert",
    "connection closed",
    "stream closed",
    "broken pipe",
    "connection reset",
    "reset by peer",
    "unexpected end of file",
];

impl Trouble {
    pub(crate) fn of(options: &Options, status: &Status) -> Trouble {
        let (meaning, passing) = match status.code() {
            Code::Unavailable => (Meaning::Gone, true),
            Code::Aborted | Code::Internal | Code::Unknown | Code::DataLoss => {
                (Meaning::Gone, true)
            }
            Code::DeadlineExceeded => (Meaning::Gone, false),
            Code::ResourceExhausted | Code::Cancelled => (Meaning::Gone, true),
            Code::Unauthenticated | Code::PermissionDenied => (Meaning::Refused, false),
            Code::NotFound | Code::FailedPrecondition => (Meaning::Missing, false),
            _ => (Meaning::Unable, false),
        };
        // The reason is often further down: a certificate, a refused connection.
        let mut words = code(status.code()).to_string();
        let mut add = |text: &str| {
            let text = text.trim();
            if !text.is_empty() && !words.contains(text) {
                words.push_str(": ");
                words.push_str(text);
            }
        };
        add(status.message());
        let mut source = status.source();
        while let Some(error) = source {
            add(&error.to_string());
            source = error.source();
        }
        // A server may send anything.
        let words: String = words.chars().filter(|c| !c.is_control()).take(400).collect();
        let unmet = status.code() == Code::FailedPrecondition;
        Trouble { meaning, words: options.without_secrets(&words), passing, unmet }
    }

    pub(crate) fn slow(timeout: Duration) -> Trouble {
        let words = format!("no answer within {} s", timeout.as_secs_f64());
        Trouble { meaning: Meaning::Gone, words, passing: false, unmet: false }
    }

    pub(crate) fn gone(words: impl Into<String>) -> Trouble {
        Trouble { meaning: Meaning::Gone, words: words.into(), passing: false, unmet: false }
    }

    pub(crate) fn refused(words: impl Into<String>) -> Trouble {
        Trouble { meaning: Meaning::Refused, words: words.into(), passing: false, unmet: false }
    }

    /// The server has all blobs, and misses something else.
    pub(crate) fn unmet(words: impl Into<String>) -> Trouble {
        Trouble { meaning: Meaning::Unable, words: words.into(), passing: false, unmet: true }
    }

    pub(crate) fn unable(words: impl Into<String>) -> Trouble {
        Trouble { meaning: Meaning::Unable, words: words.into(), passing: false, unmet: false }
    }

    /// Advice for the user, if the words of the failure allow any.
    pub fn help(&self, options: &Options) -> Option<String> {
        let words = self.words.to_lowercase();
        if words.contains("unknownissuer") || words.contains("unknown issuer") {
            return Some("the server's certificate is signed by nobody known here; --tls-certificate names the file of its authority".into());
        }
        if words.contains("certificaterequired") || words.contains("certificate required") {
            return Some("the server wants a certificate of the client: --tls-client-certificate and --tls-client-key".into());
        }
        if words.contains("notvalidforname") || words.contains("not valid for name") {
            return Some(
                "the server's certificate is for another name than that in the URL".into(),
            );
        }
        if words.contains("expired") && words.contains("certificate") {
            return Some("a certificate is no longer valid".into());
        }
        if words.contains("corrupt message") || words.contains("invalidcontenttype") {
            return Some("the server does not encrypt; is it grpc:// instead of grpcs://?".into());
        }
        if ENDED.iter().any(|end| words.contains(end))
            && options.address.encrypted
            && options.tls.client.is_none()
        {
            return Some("the server ended the encrypted connection; it may want a certificate of the client (--tls-client-certificate and --tls-client-key), or not encrypt (grpc:// instead of grpcs://)".into());
        }
        let properties = options.execution.as_ref().is_some_and(|e| !e.properties.is_empty());
        match self.meaning {
            Meaning::Unable if self.unmet && properties => Some(
                "has it a worker with the properties of --remote-platform, by the names that it uses?".into(),
            ),
            // It has said itself what is wrong.
            Meaning::Refused if words.starts_with("the credential helper") => None,
            Meaning::Refused if !options.helpers.is_empty() => {
                Some("is what the credential helper tells meant for this server?".into())
            }
            Meaning::Refused if options.headers.is_empty() => Some(
                "the server wants to know who asks: --remote-header authorization=@FILE, or --credential-helper PROGRAM".into(),
            ),
            Meaning::Refused => {
                Some("is the token in --remote-header right, and is it still valid?".into())
            }
            Meaning::Missing | Meaning::Unable if !options.instance.is_empty() => Some(format!(
                "is the instance name `{}` right (--remote-instance-name)?",
                options.instance
            )),
            Meaning::Missing | Meaning::Unable => {
                Some("some servers need an instance name (--remote-instance-name)".into())
            }
            Meaning::Gone => None,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

fn code(code: Code) -> &'static str {
    match code {
        Code::Unavailable => "it cannot be reached",
        Code::DeadlineExceeded => "it was too slow",
        Code::Unauthenticated => "it does not know who asks",
        Code::PermissionDenied => "it does not permit that",
        Code::NotFound => "it does not have that",
        Code::Unimplemented => "it does not offer that",
        Code::ResourceExhausted => "it has no room or no time for that",
        Code::InvalidArgument => "it does not accept the request",
        Code::FailedPrecondition => "something that it needs is missing there",
        Code::Cancelled => "the request was cut off",
        _ => "it failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Address;

    #[test]
    fn whoever_lacks_a_certificate_is_told_so_whichever_error_comes_first() {
        let mut options = Options::new(Address::parse("grpcs://host:1").unwrap());
        let told = |options: &Options, words: &str| {
            Trouble::gone(format!("it cannot be reached: {words}"))
                .help(options)
                .unwrap_or_default()
        };
        for words in [
            "received fatal alert: CertificateRequired",
            "received fatal alert: HandshakeFailure",
            "stream closed because of a broken pipe",
            "Connection reset by peer (os error 104)",
            "peer closed connection without sending TLS close_notify: unexpected end of file",
        ] {
            assert!(told(&options, words).contains("--tls-client-certificate"), "{words}");
        }
        assert_eq!(told(&options, "Connection refused (os error 111)"), "");
        options.tls.client = Some(Default::default());
        assert!(!told(&options, "broken pipe").contains("--tls-client-certificate"));
        options = Options::new(Address::parse("grpc://host:1").unwrap());
        assert_eq!(told(&options, "broken pipe"), "");
    }
}
