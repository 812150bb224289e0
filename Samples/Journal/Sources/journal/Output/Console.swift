import Foundation
import JournalStorage

/// What the command tells: results on the standard output, messages on the standard error.
enum Console {
    /// A line on standard output, at once: another program may wait for it.
    ///
    /// Where it cannot be written the process ends: with 141 when its reader has gone, as a signal would have it, and
    /// otherwise with a message and 1.
    static func print(_ line: String) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            // 'journal copy | head': whoever read the results has seen enough.
            if cause?.code == Int(EPIPE) { exit(141) }
            Self.error("journal: The results cannot be written: \((cause ?? error as NSError).localizedDescription)")
            exit(1)
        }
    }

    static func error(_ line: String) {
        // There is nobody to tell that this cannot be written.
        try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Names what is damaged.
    static func tell(_ damaged: [DamagedRecord]) {
        for finding in damaged { error("\(finding.name): \(finding.reason)") }
    }
}
