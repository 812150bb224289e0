import Foundation

/// What commands print.
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
            // 'lfs-server schema print | head': whoever read the results has seen enough.
            if cause?.code == Int(EPIPE) { exit(141) }
            message("lfs-server: The results cannot be written: \((cause ?? error as NSError).localizedDescription)")
            exit(1)
        }
    }

    private static func message(_ line: String) {
        // There is nobody to tell that this cannot be written either.
        try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
    }
}
