//! The action under whose digest a packet is kept.
//!
//! A cache of actions has results of actions, and strict servers look at both. So each packet belongs
//! to a real action, which is uploaded with it: its command says how to make the packet, and for what.

use bazel_remote_apis::build::bazel::remote::execution::v2::{
    Action, ActionResult, Command, Digest as Named, Directory, OutputFile,
};
use litmake_base::digest::Digest;
use prost::Message;

/// Where the action leaves its packet.
pub const OUTPUT: &str = "packet";

/// Bytes with the digest under which servers know them.
#[derive(Clone)]
pub struct Blob {
    pub digest: Named,
    pub bytes: Vec<u8>,
}

impl Blob {
    pub fn new(bytes: Vec<u8>) -> Blob {
        Blob { digest: digest_of(&bytes), bytes }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Whether a digest can be one, of so many bytes at most.
pub fn is_sensible(digest: &Named, most: i64) -> bool {
    digest.hash.len() == 64
        && digest.hash.bytes().all(|b| b.is_ascii_hexdigit())
        && (0..=most).contains(&digest.size_bytes)
}

/// The SHA-256 digest that servers go by.
pub fn digest_of(bytes: &[u8]) -> Named {
    let sum = ring::digest::digest(&ring::digest::SHA256, bytes);
    let hash = hex(sum.as_ref());
    Named { hash, size_bytes: bytes.len() as i64 }
}

/// An action with everything that it names, itself last.
pub struct Deed {
    pub blobs: [Blob; 3],
}

impl Deed {
    /// The action that makes the packet of a key. It does not depend on the machine or on the time.
    pub fn of(key: &Digest) -> Deed {
        let root = Blob::new(Directory::default().encode_to_vec());
        let command = Command {
            arguments: vec!["litmake".into(), "packet".into(), key.to_string()],
            output_paths: vec![OUTPUT.into()],
            ..Command::default()
        };
        let command = Blob::new(command.encode_to_vec());
        let action = Action {
            command_digest: Some(command.digest.clone()),
            input_root_digest: Some(root.digest.clone()),
            ..Action::default()
        };
        Deed { blobs: [root, command, Blob::new(action.encode_to_vec())] }
    }

    pub fn digest(&self) -> &Named {
        &self.blobs[2].digest
    }
}

/// The result of such an action: a packet, and nothing of when and where it was made.
pub fn result(packet: &Named) -> ActionResult {
    let digest = Some(packet.clone());
    ActionResult {
        output_files: vec![OutputFile { path: OUTPUT.into(), digest, ..OutputFile::default() }],
        ..ActionResult::default()
    }
}

/// The packet that such a result names, with its bytes where the server sent them along.
pub fn packet_of(result: ActionResult) -> Option<(Named, Vec<u8>)> {
    if result.exit_code != 0 {
        return None;
    }
    let file = result.output_files.into_iter().find(|file| file.path == OUTPUT)?;
    let digest = file.digest.filter(|d| is_sensible(d, super::sealed::MAX as i64 + 4096))?;
    Some((digest, file.contents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_that_everybody_computes() {
        let empty = digest_of(b"");
        assert_eq!(empty.hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let abc = digest_of(b"abc");
        assert_eq!(abc.hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(abc.size_bytes, 3);
    }

    #[test]
    fn an_action_depends_on_its_key_alone() {
        let (a, b) = (Deed::of(&Digest::of(b"a")), Deed::of(&Digest::of(b"b")));
        assert_eq!(a.digest(), Deed::of(&Digest::of(b"a")).digest());
        assert_ne!(a.digest(), b.digest());
        assert_eq!(a.blobs[0].digest, b.blobs[0].digest);
    }

    #[test]
    fn a_result_that_names_no_packet_is_none() {
        let packet = digest_of(b"x");
        assert_eq!(packet_of(result(&packet)), Some((packet.clone(), Vec::new())));
        let mut failed = result(&packet);
        failed.exit_code = 1;
        assert_eq!(packet_of(failed), None);
        let mut strange = result(&packet);
        strange.output_files[0].digest = Some(Named { hash: "../..".into(), size_bytes: 3 });
        assert_eq!(packet_of(strange), None);
        assert_eq!(packet_of(ActionResult::default()), None);
    }
}
