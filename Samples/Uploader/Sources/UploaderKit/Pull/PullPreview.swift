import ArgumentParser
import GRDB
import LFS
import LFSBackup

/// A preview of a pull, which shows the files that it would write. Nothing is written or downloaded. Existing files are
/// read and compared.
struct PullPreview: Sendable {
    let source: RestoreSource
    let report: Report
    let overwrites: Bool
    /// The ids of the files with local copies.
    let here: Set<String>
    /// The reader of unchanged originals. Nil if they cannot be read.
    let originals: LFSReader?

    /// The figures in the last line.
    private struct Figures: Encodable {
        var event = "summary"
        var files = 0
        var bytes: Int64 = 0
        /// The bytes that have to be downloaded.
        var fetchedBytes: Int64 = 0
        /// The files that would replace another one.
        var overwritten = 0
        var unchanged = 0
        var folders = 0
        var links = 0
        var failed = 0
    }

    /// - Throws: `ExitCode` 3 if something could not be written.
    func run() async throws {
        var figures = Figures()
        var listed: Set<AssetName> = []
        report.failed(source.named?.refusals ?? [])
        figures.failed += source.named?.refusals.count ?? 0
        try await source.forEachPage { page in
            for row in page.unusable { fail(FilePath(row.fileID), reason: row.reason, figures: &figures) }
            for path in page.nothingYet { fail(path, reason: RestoreSource.notYet, figures: &figures) }
            for path in page.notKept { fail(path, reason: RestoreSource.notKept, figures: &figures) }
            let local = try await localFiles(among: page.documents)
            for attached in page.documents {
                show(attached, isLocal: local.contains(attached.file.id), figures: &figures)
            }
            listed.formUnion(page.listed)
        }
        try await source.forEachEntryPage { page in
            for row in page.unusable { fail(FilePath(row.fileID), reason: row.reason, figures: &figures) }
            for entry in page.entries { show(entry, figures: &figures) }
            listed.formUnion(page.entries.map { source.layout.pathInFolder($0.path) })
        }
        for path in (source.filter.listed ?? []).subtracting(listed).sorted(by: { $0.description < $1.description }) {
            fail(FilePath(path), reason: "it is listed, but the database has no such file", figures: &figures)
        }
        report.tell(figures, words: words(figures))
        if figures.failed > 0 { throw ExitCode(3) }
    }

    private func words(_ figures: Figures) -> String {
        var words = "\(Format.count(figures.files, noun: "file")) to write, \(Format.bytes(figures.bytes))"
        words += " (\(Format.bytes(figures.fetchedBytes)) to download)"
        if figures.overwritten > 0 { words += ", \(Format.count(figures.overwritten)) of them overwrite others" }
        if figures.folders > 0 { words += ", \(Format.count(figures.folders, noun: "folder"))" }
        if figures.links > 0 { words += ", \(Format.count(figures.links, noun: "link"))" }
        return words + ", \(Format.count(figures.unchanged)) unchanged, \(Format.count(figures.failed)) failed"
    }

    private func fail(_ path: FilePath, reason: String, figures: inout Figures) {
        figures.failed += 1
        report.failed(path, reason: reason)
    }

    // MARK: Single files

    /// Returns the files whose bytes are on this device, in local copies or in unchanged originals.
    private func localFiles(among documents: [AttachedDocument]) async throws -> Set<FileData.ID> {
        let ids = Set(documents.map(\.file.id))
        var local = ids.filter { here.contains($0.uuidString) }
        guard let originals else { return local }
        let inPlace = try await source.database.read { db in try DocumentTable.filesInPlace(Array(ids), db) }
        for id in inPlace.subtracting(local) {
            do {
                if try await originals.localURL(of: id) != nil { local.insert(id) }
            } catch is LFSError {}  // a pull downloads what cannot be read here
        }
        return local
    }

    private func show(_ attached: AttachedDocument, isLocal: Bool, figures: inout Figures) {
        do {
            let target = try RestoreTarget(attached, layout: source.layout)
            let folder = try RestoreFolders.find(target.place.folder)
            let found = try target.look(in: folder, for: attached.file) { _ in }
            if case .same = found { return figures.unchanged += 1 }
            if found == .other, !overwrites { throw target.conflict }
            let byteCount = attached.file.byteCount
            figures.files += 1
            figures.bytes = figures.bytes.addingSaturated(byteCount)
            if !isLocal {
                figures.fetchedBytes = figures.fetchedBytes.addingSaturated(byteCount)
            }
            var event = JSONEvent(found == .other ? "wouldOverwrite" : "wouldWrite")
            event.id = attached.file.id
            event.path = target.path.exact
            event.bytes = byteCount
            if found == .other { figures.overwritten += 1 }
            report.tell(
                event,
                words: "\(target.path)  \(Format.bytes(byteCount))\(found == .other ? "  overwrites a file" : "")")
        } catch {
            fail(attached.document.path, reason: ErrorMessages.of(error), figures: &figures)
        }
    }

    private func show(_ entry: Entry, figures: inout Figures) {
        do {
            let place = try source.layout.place(of: entry)
            guard case .link(let target) = entry.kind else {
                guard try RestoreFolders.find(place) == nil else { return }
                figures.folders += 1
                return tell("wouldMake", path: place.path, words: "folder")
            }
            let link = RestoreLink(place: place, target: target, attributes: entry.attributes)
            let found = try link.look(in: try RestoreFolders.find(place.folder))
            // Unchanged links are not counted, as in a run.
            if found == .same { return }
            if found == .other, !overwrites { throw link.conflict }
            figures.links += 1
            tell(
                found == .other ? "wouldOverwrite" : "wouldMake", path: place.path,
                words: found == .other ? "link, overwrites another one" : "link")
        } catch {
            fail(entry.path, reason: ErrorMessages.of(error), figures: &figures)
        }
    }

    private func tell(_ name: String, path: FilePath, words: String) {
        var event = JSONEvent(name)
        event.path = path.exact
        report.tell(event, words: "\(path)  \(words)")
    }
}
