//! How the bytes of a message are put: encoding, and one object at a time.
//!
//! An array is told once, here, under the requirement that binds every transport; the ones of stdio and of JSON bodies
//! that say the same of their transport are counted under it. Arrays are legal under 2025-03-26, and may answer an array
//! of ours.

use mcp_conform_schemas::Revision;

use super::{Breach, Context, Row, Rule, Verdicts, register::Definition, stdout::is_wide};
use crate::{
    trace::{Channel, Direction, Event},
    wire::{DefectKind, JsonKind, LimitKind},
};

pub(super) static UTF8: Row = Row::both("base-utf8-output", Revision::V2025_03_26, "jsonrpc-utf8");
pub(super) static NO_BATCH: Row =
    Row::both("base-no-batch-from-server", Revision::V2025_06_18, "jsonrpc-no-batch-emitted");
static SINGLE_LINE: Row = Row::both("stdio-individual-messages", Revision::V2025_06_18, "stdio-single-message-object");

pub(super) static DEFINITION: Definition = Definition {
    name: "framing",
    title: "Messages are UTF-8, and one JSON object each",
    about: "The bytes of every message of the server are decoded strictly as UTF-8 (a byte order mark warns), and the \
            top level has to be an object, not an array. What holds no message is left to other rules.",
    rows: &[UTF8, NO_BATCH, SINGLE_LINE],
    make: || Box::new(Framing),
};

struct Framing;

impl Rule for Framing {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        let Some(view) = event.message().filter(|view| view.direction == Direction::In) else { return };
        // Other verbs and paths may lead to documents of any kind.
        let posted = |exchange| context.exchange(exchange).is_some_and(|state| state.method == "POST");
        if matches!(view.channel, Channel::Body { exchange, .. } if !posted(exchange)) {
            return;
        }
        let frame = view.frame;
        if is_wide(&frame.raw) {
            let breach =
                Breach::new(event.seq, "", "a message in UTF-16 or UTF-32").spanning(0, frame.raw.len().min(2));
            out.check(&UTF8, context, Some(breach));
            return;
        }
        let Some(json) = &frame.json else { return };
        out.occasion(&UTF8, context);
        if let Some(defect) = frame.defects.iter().find(|defect| defect.kind == DefectKind::InvalidUtf8) {
            let breach = Breach::new(event.seq, defect.pointer.clone(), defect.message.clone());
            out.broken(&UTF8, context, breach.spanning(defect.span.start, defect.span.end));
        } else if frame.has(DefectKind::ByteOrderMark) {
            let breach = Breach::new(event.seq, "", "a byte order mark before the message").warning();
            out.broken(&UTF8, context, breach.spanning(0, 3));
        }
        if frame.has(DefectKind::OurLimit(LimitKind::Bytes)) {
            return;
        }
        let array = if let JsonKind::Array(items) = &json.kind {
            let breach = Breach::new(event.seq, "", format!("an array of {} instead of one message", items.len()));
            Some(if context.array_sent() { breach.contested("C29") } else { breach })
        } else {
            None
        };
        out.check(&NO_BATCH, context, array.clone());
        if view.channel == Channel::Stdio {
            out.check(&SINGLE_LINE, context, array.map(|breach| breach.under(&NO_BATCH)));
        }
    }
}
