//! Faults of the stdio stream and of the process behind it. Those that break nothing by themselves show at the target as a
//! whole: it cannot be judged, or there is a note on it.
//! What each does is at the place that asks for it.

use super::{Fault, faults};

faults! { STREAMS:
    PrettyPrinted "pretty-printed" T1 [Stdio]
        "the first progress notification is spread over several lines"
        legacy ["stdio-no-embedded-newlines"]
        modern ["stdio-one-message-per-line"]
        collateral_legacy ["stdio-stdout-only-messages"]
        collateral_modern ["stdio-stdout-only-mcp"];
    ContentLengthFraming "content-length-framing" T1 [Stdio]
        "the first progress notification is framed by a Content-Length header"
        legacy ["stdio-stdout-only-messages"]
        modern ["stdio-stdout-only-mcp"]
        collateral_legacy ["stdio-no-embedded-newlines" "stdio-messages-terminated"]
        collateral_modern ["stdio-one-message-per-line"];
    MessagesNotTerminated "messages-not-terminated" T1 [Stdio]
        "the first progress notification has no newline behind it"
        legacy ["stdio-messages-terminated"]
        modern ["stdio-one-message-per-line"]
        collateral_legacy ["stdio-stdout-only-messages" "base-response-one-per-request"]
        collateral_modern ["stdio-stdout-only-mcp" "response-exactly-one-per-request" "stateless-interleaving"];
    StdoutBanner "stdout-banner" T2 [Stdio]
        "a banner is written to stdout before anything else"
        legacy ["stdio-stdout-only-messages"]
        modern ["stdio-stdout-only-mcp"];
    StdoutLogLine "stdout-log-line" T2 [Stdio]
        "log lines are written to stdout between messages"
        legacy ["stdio-stdout-only-messages"]
        modern ["stdio-stdout-only-mcp"];
    GarbageBytes "garbage-bytes" T2 [Stdio]
        "bytes that are no text are written instead of answers";
    HalfMessageThenExit "half-message-then-exit" T2 [Stdio]
        "the process dies in the middle of its first answer";
    EndlessLine "endless-line" T2 [Stdio]
        "the first answer is a line that never ends";
    HugeMessage "huge-message" T2 [Stdio]
        "every answer is padded by 64 MiB";
    NeverAnswers "never-answers" T2 [Stdio Http]
        "everything is read and nothing answered";
    ExitsAtOnce "exits-at-once" T2 [Stdio]
        "the process ends before it has read anything";
    ExitsAtForeignId "exits-at-foreign-id" T2 [Stdio]
        "the process ends with status 1 at an id that holds more than ASCII"
        legacy ["base-response-one-per-request"]
        modern ["response-exactly-one-per-request"];
    IgnoresEof "ignores-eof" T1 [Stdio]
        "the end of the input does not end the process"
        legacy ["stdio-exits-on-stdin-close"]
        modern ["stdio-exit-on-eof"];
    IgnoresEofWhileAsking "ignores-eof-while-asking" T1 [Stdio]
        "the end of the input is ignored while a request of the server's own is unanswered"
        legacy ["stdio-exits-on-stdin-close"];
    LingersAfterEof "lingers-after-eof" T2 [Stdio]
        "the process stays for a minute after the end of its input"
        legacy ["stdio-exits-on-stdin-close"]
        modern ["stdio-exit-on-eof"];
    SpinsAfterEof "spins-after-eof" T2 [Stdio]
        "the process burns a processor after the end of its input"
        legacy ["stdio-exits-on-stdin-close"]
        modern ["stdio-exit-on-eof"];
    IgnoresSigterm "ignores-sigterm" T2 [Stdio]
        "neither the end of the input nor SIGTERM ends the process"
        legacy ["stdio-exits-on-sigterm"]
        modern ["stdio-exit-on-eof"]
        collateral_legacy ["stdio-exits-on-stdin-close"];
    GrandchildInGroup "grandchild-in-group" T2 [Stdio]
        "a child of the process outlives it in the same group";
    GrandchildEscaped "grandchild-escaped" T2 [Stdio]
        "a child of the process outlives it in a session of its own";
    StderrFlood "stderr-flood" T2 [Stdio]
        "a mebibyte is written to stderr before the handshake";
    WantsConfiguration "wants-configuration" T2 [Stdio]
        "the process asks for a setting on stderr and ends with status 2";
    ReadsInChunks "reads-in-chunks" T1 [Stdio]
        "whatever one read of the input brings is taken for a message"
        legacy ["stdio-reads-line-framing"]
        collateral_legacy ["stdio-messages-terminated"];
}
