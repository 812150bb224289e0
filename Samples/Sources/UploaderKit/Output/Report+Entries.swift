/// What became of folders and links, and of what files have beside their content.
extension Report {
    /// The content is as it was, and its time or its permissions are recorded anew.
    func touched(_ path: FilePath) {
        worked()
        changeTally { tally in
            tally.skipped += 1
            tally.unchanged += 1
            tally.touched += 1
        }
        tell("touched", path)
    }

    /// A folder or a link is recorded that is new or has changed.
    func recorded(_ path: FilePath, isLink: Bool) { count(path, isLink) }

    /// A folder was made, or a link.
    func made(_ path: FilePath, isLink: Bool) { count(path, isLink) }

    /// It is recorded, and not where it was any more.
    func gone(_ path: FilePath) {
        changeTally { $0.gone += 1 }
        tell("gone", path)
    }

    /// A file that is there with the right content keeps its own time and permissions.
    func keepsAttributes() { changeTally { $0.kept += 1 } }

    /// Says how to give them those of the originals: no failure, so a quiet run says nothing.
    func keptAttributes(folders: Int) {
        let files = tally.kept
        guard files + folders > 0, !options.isQuiet else { return }
        let words = [
            files > 0 ? Format.count(files, "file") : nil, folders > 0 ? Format.count(folders, "folder") : nil,
        ].compactMap(\.self).joined(separator: " and ")
        let isOne = files + folders == 1
        message(
            """
            \(words) that \(isOne ? "was there keeps its" : "were there keep their") own times or permissions; \
            --overwrite gives \(isOne ? "it" : "them") the recorded ones, and writes over files that have other content.
            """)
    }

    private func count(_ path: FilePath, _ isLink: Bool) {
        worked()
        changeTally { tally in
            tally.links += isLink ? 1 : 0
            tally.folders += isLink ? 0 : 1
        }
        tell(isLink ? "link" : "folder", path)
    }

    private func tell(_ name: String, _ path: FilePath) {
        var event = JSONEvent(name)
        event.path = path.exact
        tell(event, verbose: "\(name) \(path)")
    }
}
