import Foundation

/// The two streams of the process: results on the standard output, messages on the standard error.
enum Console {
    /// Results, at once.
    ///
    /// Where they cannot be written the process ends: with 141 when its reader has gone, as a signal would have it, and
    /// otherwise with a message and 1.
    static func result(_ text: String) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            // 'lfs-bench settings | head': whoever read the results has seen enough.
            if cause?.code == Int(EPIPE) { exit(141) }
            message("lfs-bench: The results cannot be written: \((cause ?? error as NSError).localizedDescription)")
            exit(1)
        }
    }

    static func message(_ text: String) {
        // There is nobody to tell that this cannot be written.
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
