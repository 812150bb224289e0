import ArgumentParser
import LFS
import LFSBackup

/// Shows what a pull would write where. Nothing is written or fetched; what is there is read and compared.
struct PullPreview: Sendable {
    let source: RestoreSource
    let report: Report
    let overwrites: Bool
    /// The ids of the files whose bytes are on this device.
    let here: Set<String>

    /// The figures of the last line.
    private struct Figures: Encodable {
        var event = "summary"
        var files = 0
        var bytes: Int64 = 0
        /// Those of the bytes that the storage has to give.
        var fetchedBytes: Int64 = 0
        /// Those of the files in whose place another one goes.
        var overwritten = 0
        var unchanged = 0
        var folders = 0
        var links = 0
        var failed = 0
    }

    /// - Throws: `ExitCode` 3 when something could not be written as it is.
    func run() async throws {
        var figures = Figures()
        var listed: Set<AssetName> = []
        report.failed(source.named?.refusals ?? [])
        figures.failed += source.named?.refusals.count ?? 0
        try await source.forEachPage { page in
            for row in page.unusable { fail(FilePath(row.fileID), row.reason, &figures) }
            for path in page.nothingYet { fail(path, RestoreSource.notYet, &figures) }
            for path in page.notKept { fail(path, RestoreSource.notKept, &figures) }
            for attached in page.documents { show(attached, &figures) }
            listed.formUnion(page.listed)
        }
        try await source.forEachEntryPage { page in
            for row in page.unusable { fail(FilePath(row.fileID), row.reason, &figures) }
            for entry in page.entries { show(entry, &figures) }
            listed.formUnion(page.entries.map { source.layout.pathInFolder($0.path) })
        }
        for path in (source.filter.listed ?? []).subtracting(listed).sorted(by: { $0.description < $1.description }) {
            fail(FilePath(path), "it is listed, and no such file is here", &figures)
        }
        report.tell(figures, words(figures))
        if figures.failed > 0 { throw ExitCode(3) }
    }

    private func words(_ figures: Figures) -> String {
        var words = "\(Format.count(figures.files, "file")) to write, \(Format.bytes(figures.bytes))"
        words += " (\(Format.bytes(figures.fetchedBytes)) to fetch)"
        if figures.overwritten > 0 { words += ", \(Format.count(figures.overwritten)) of them over others" }
        if figures.folders > 0 { words += ", \(Format.count(figures.folders, "folder"))" }
        if figures.links > 0 { words += ", \(Format.count(figures.links, "link"))" }
        return words + ", \(Format.count(figures.unchanged)) unchanged, \(Format.count(figures.failed)) failed"
    }

    private func fail(_ path: FilePath, _ reason: String, _ figures: inout Figures) {
        figures.failed += 1
        report.failed(path, reason)
    }

    // MARK: One by one

    private func show(_ attached: AttachedDocument, _ figures: inout Figures) {
        do {
            let target = try RestoreTarget(attached, source.layout)
            let folder = try RestoreFolders.find(target.place.folder)
            let found = try target.look(in: folder, for: attached.file) { _ in }
            if case .same = found { return figures.unchanged += 1 }
            if found == .other, !overwrites { throw target.conflict }
            let byteCount = attached.file.byteCount
            figures.files += 1
            figures.bytes = figures.bytes.addingSaturated(byteCount)
            if !here.contains(attached.file.id.uuidString) {
                figures.fetchedBytes = figures.fetchedBytes.addingSaturated(byteCount)
            }
            var event = JSONEvent(found == .other ? "would-overwrite" : "would-write")
            (event.id, event.path, event.bytes) = (attached.file.id, target.path.exact, byteCount)
            if found == .other { figures.overwritten += 1 }
            report.tell(
                event, "\(target.path)  \(Format.bytes(byteCount))\(found == .other ? "  over another file" : "")")
        } catch {
            fail(attached.document.path, Words.of(error), &figures)
        }
    }

    private func show(_ entry: Entry, _ figures: inout Figures) {
        do {
            let place = try source.layout.place(of: entry)
            guard case .link(let target) = entry.kind else {
                guard try RestoreFolders.find(place) == nil else { return }
                figures.folders += 1
                return tell("would-make", place.path, "folder")
            }
            let link = RestoreLink(place: place, target: target, attributes: entry.attributes)
            let found = try link.look(in: try RestoreFolders.find(place.folder))
            // As a run counts them: of links none is unchanged.
            if found == .same { return }
            if found == .other, !overwrites { throw link.conflict }
            figures.links += 1
            tell(
                found == .other ? "would-overwrite" : "would-make", place.path,
                found == .other ? "link over another one" : "link")
        } catch {
            fail(entry.path, Words.of(error), &figures)
        }
    }

    private func tell(_ name: String, _ path: FilePath, _ words: String) {
        var event = JSONEvent(name)
        event.path = path.exact
        report.tell(event, "\(path)  \(words)")
    }
}
