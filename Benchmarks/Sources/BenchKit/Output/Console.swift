import Foundation

/// The output streams: results on the standard output, messages on the standard error.
enum Console {
    /// Prints results immediately.
    ///
    /// If the write fails, the process ends. The status is 141 if the reader has closed the pipe, as after a signal.
    /// Otherwise it is 1, with a message.
    static func result(_ text: String) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            // As in 'lfs-bench settings | head', where the reader stops early.
            if cause?.code == Int(EPIPE) { exit(141) }
            message("lfs-bench: The results cannot be written: \((cause ?? error as NSError).localizedDescription)")
            exit(1)
        }
    }

    static func message(_ text: String) {
        // An error of this write cannot be reported.
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
