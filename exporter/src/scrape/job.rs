//! One collection under way, and the requests it answers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;
use toolkit::metric::{Family, Sink, merge};

use super::{Families, Selection};

/// Somebody who waits for a collection.
pub(super) struct Request {
    pub(super) selection: Selection,
    pub(super) reply: oneshot::Sender<Families>,
}

/// A collection under way.
pub(super) struct Job {
    pub(super) selection: Selection,
    /// Indices of the slots still to run.
    pub(super) remaining: VecDeque<usize>,
    /// The slot being run, and since when.
    pub(super) running: Option<(usize, Instant)>,
    /// What the collectors that ran have published.
    pub(super) parts: Vec<Vec<Family>>,
    replies: Vec<oneshot::Sender<Families>>,
}

impl Job {
    /// A collection for `first` and for everyone in `queue` who waits for the same selection of the collectors `names`.
    pub(super) fn new(first: Request, queue: &mut VecDeque<Request>, names: &[&str]) -> Self {
        let selection = first.selection;
        let mut replies = vec![first.reply];
        for request in std::mem::take(queue) {
            if request.selection == selection {
                replies.push(request.reply);
            } else {
                queue.push_back(request);
            }
        }
        let remaining = (0..names.len()).filter(|index| selection.takes(names[*index]));
        Job {
            remaining: remaining.collect(),
            running: None,
            parts: Vec::new(),
            selection,
            replies,
        }
    }

    /// Hands the collection, with the loop's own families in `out`, to everyone who waits for it.
    pub(super) fn answer(self, out: Sink) {
        let families = Arc::new(merge(self.parts.into_iter().chain([out.into_families()])));
        let mut replies = self.replies;
        let last = replies.pop();
        for reply in replies {
            // Whoever hung up meanwhile needs no answer.
            let _ = reply.send(Arc::clone(&families));
        }
        // Handed over, not shared: whoever is the only one need not copy it.
        let _ = last.map(|reply| reply.send(families));
    }
}
