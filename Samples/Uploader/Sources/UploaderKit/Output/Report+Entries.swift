/// Events of folders and links, and of the attributes of files.
extension Report {
    /// Reports a file with unchanged content whose time or permissions were updated.
    func touched(_ path: FilePath) {
        worked()
        changeTally { tally in
            tally.skipped += 1
            tally.unchanged += 1
            tally.touched += 1
        }
        tell("touched", path: path)
    }

    /// Reports that a new or changed folder or link was recorded.
    func recorded(_ path: FilePath, isLink: Bool) { count(path, isLink: isLink) }

    /// Reports that a folder or a link was created.
    func made(_ path: FilePath, isLink: Bool) { count(path, isLink: isLink) }

    /// Reports a recorded folder or link that no longer exists.
    func gone(_ path: FilePath) {
        changeTally { $0.gone += 1 }
        tell("gone", path: path)
    }

    /// Counts an existing file with the right content that keeps its time and permissions.
    func keepsAttributes() { changeTally { $0.kept += 1 } }

    /// Explains how to restore the recorded attributes. This is not a failure, so a quiet run does not print it.
    func keptAttributes(folders: Int) {
        let files = tally.kept
        guard files + folders > 0, !options.isQuiet else { return }
        let words = [
            files > 0 ? Format.count(files, noun: "file") : nil,
            folders > 0 ? Format.count(folders, noun: "folder") : nil,
        ].compactMap(\.self).joined(separator: " and ")
        let isOne = files + folders == 1
        message(
            """
            \(words) that already existed \(isOne ? "keeps its" : "keep their") own times or permissions; --overwrite \
            sets the recorded ones, and overwrites files with other content.
            """)
    }

    private func count(_ path: FilePath, isLink: Bool) {
        worked()
        changeTally { tally in
            tally.links += isLink ? 1 : 0
            tally.folders += isLink ? 0 : 1
        }
        tell(isLink ? "link" : "folder", path: path)
    }

    private func tell(_ name: String, path: FilePath) {
        var event = JSONEvent(name)
        event.path = path.exact
        tell(event, verbose: "\(name) \(path)")
    }
}
