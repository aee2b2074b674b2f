//! Tells the mechanisms of bugs that devices showed: an execution that the model forbids says which
//! order was lost. It does not know how tests ran.

use super::{Investigator, explain};
use litmake_report::bugs::join_whole;
use litmake_report::mechanism::{Mechanism, seen};
use litmake_report::{Class, Finding, Report};

impl Investigator<'_> {
    /// Gives each bug of a device its mechanism and the execution behind it, and joins those of one
    /// mechanism.
    pub fn devices(&mut self, report: &mut Report) {
        let of_device = |f: &&mut Finding| f.class == Class::Conformance;
        for finding in report.findings.iter_mut().filter(of_device) {
            if self.context.stopped() {
                break;
            }
            finding.evidence = explain::forbidden(
                self.models,
                (&finding.source, &finding.model_source),
                &finding.outcomes.forbidden,
            );
            let source = finding.evidence.as_ref().and_then(|e| e.source.as_ref());
            if let (Some(own), Some(seen)) = (&mut finding.mechanism, source.and_then(seen)) {
                *own = Mechanism { target: own.target.clone(), ..seen };
            }
        }
        join_whole(report);
    }
}
