import Foundation
import JournalStorage

/// The output of the command: results on the standard output, messages on the standard error.
enum Console {
    /// Writes a line to the standard output without buffering, since another program may wait for it.
    ///
    /// If the line cannot be written, the process ends: with 141 if the reader has closed the pipe, which is the status
    /// of the signal, and otherwise with a message and 1.
    static func print(_ line: String) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            // 'journal export | head': the reader has seen enough.
            if cause?.code == Int(EPIPE) { exit(141) }
            Self.error("journal: The results cannot be written: \((cause ?? error as NSError).localizedDescription)")
            exit(1)
        }
    }

    static func error(_ line: String) {
        // A failure to write here cannot be reported.
        try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Writes the names of damaged items.
    static func tell(_ damaged: [DamagedRecord]) {
        for finding in damaged { error("\(finding.name): \(finding.reason)") }
    }
}
