import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage

/// Writes attached files to their places, several beside each other; then folders and links; then what folders have
/// beside their content.
///
/// A file that is not on this device is fetched into the local store first, which checks it and goes on with what an
/// earlier run had of it, also one that was killed.
struct Restorer: Sendable {
    let source: RestoreSource
    let lfs: LFSManager
    let report: Report
    private let database: any DatabaseWriter
    /// Whether files and links go that are there with other content.
    let overwrites: Bool
    private let folders: RestoreFolders
    private let written = WrittenFiles()
    private let putOff: PutOffFiles
    private let taken = TakenFiles()

    /// How many files are fetched beside each other.
    static let parallel = 8

    init(
        _ source: RestoreSource, _ lfs: LFSManager, _ database: any DatabaseWriter, _ report: Report, overwrites: Bool
    ) async throws {
        (self.source, self.lfs, self.database, self.report) = (source, lfs, database, report)
        self.overwrites = overwrites
        putOff = PutOffFiles(report)
        var recorded: [FilePath: FileAttributes] = [:]
        try await source.forEachEntryPage(isAll: true) { page in
            for entry in page.entries where !entry.isLink {
                // One that leads elsewhere is told when it is made.
                do {
                    let path = try source.layout.place(of: entry.path).path
                    recorded[path] = recorded[path].map(entry.attributes.narrowed) ?? entry.attributes
                } catch is UploaderError {}
            }
        }
        folders = RestoreFolders(recorded: recorded, overwrites: overwrites)
    }

    func run() async throws {
        if case .folder(let folder) = source.layout.destination { try RestoreFolders.makeFolder(folder) }
        do {
            try await restoreAll()
        } catch {
            // Also what is there by now is left as it shall be.
            finish()
            throw error
        }
        finish()
    }

    private func restoreAll() async throws {
        var listed: Set<AssetName> = []
        report.failed(source.named?.refusals ?? [])
        try await source.forEachPage { page in
            listed.formUnion(page.listed)
            report.pending(
                files: page.documents.count,
                bytes: page.documents.reduce(0) { $0.addingSaturated($1.file.byteCount) })
            for row in page.unusable { report.failed(FilePath(row.fileID), row.reason) }
            for path in page.notYet { report.passedOver(path, RestoreSource.notYet) }
            for path in page.nothingYet { report.failed(path, RestoreSource.notYet) }
            for path in page.notKept { report.failed(path, RestoreSource.notKept) }
            try await restore(page.documents)
        }
        try await restorePutOff()
        try await restoreTaken()
        try await restorePutOff()
        try await noteBack()
        // No file is written any more when there are links.
        for isLink in [false, true] {
            try await source.forEachEntryPage { page in
                for entry in page.entries where entry.isLink == isLink {
                    restore(entry)
                    if source.filter.listed != nil { listed.insert(source.layout.pathInFolder(entry.path)) }
                }
                if isLink { for row in page.unusable { report.failed(FilePath(row.fileID), row.reason) } }
                try Task.checkCancellation()
            }
        }
        for path in (source.filter.listed ?? []).subtracting(listed).sorted(by: { $0.description < $1.description }) {
            report.failed(FilePath(path), "it is listed, and no such file is here")
        }
    }

    /// Tells also how many were there with other times or permissions, which they keep.
    private func finish() {
        let (failures, other) = folders.finish()
        for (folder, error) in failures { report.failed(folder, Words.of(error)) }
        report.keptAttributes(folders: other)
    }

    // MARK: Files

    /// Originals that were moved and are at their places again may be gone some day.
    private func noteBack() async throws {
        guard source.tables.contains(where: { $0.isOurs }), source.past == nil else { return }
        let moved = try await database.read(MovedTable.all)
        for chunk in written.takeReturns().filter({ moved.contains($0.document) }).chunks(of: 500) {
            try await database.write { db in try MovedTable.remove(Array(chunk), db) }
        }
    }

    private func note(_ attached: AttachedDocument, at target: RestoreTarget) {
        guard case .original = source.layout.destination, target.path == attached.document.path else { return }
        written.note(
            MovedTable.Return(document: attached.document.id, file: attached.file.id, path: attached.document.path))
    }

    private func restore(_ documents: [AttachedDocument]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, attached) in documents.enumerated() {
                if index >= Self.parallel { try await group.next() }
                group.addTask { try await restore(attached) }
            }
            try await group.waitForAll()
        }
    }

    /// - Parameters:
    ///   - isAgain: whether it is told when somebody else comes first again, or still.
    ///   - isFetched: whether this run has fetched it by then.
    private func restore(
        _ attached: AttachedDocument, isAgain: Bool = false, isFetched: Bool = false
    ) async throws {
        let path = attached.document.path
        var isFetched = isFetched
        do {
            let target = try RestoreTarget(attached, source.layout)
            let existing = try RestoreFolders.find(target.place.folder)
            let found = try target.look(in: existing, for: attached.file, onBytes: { _ in report.worked() })
            switch found {
            case .same(let isOther):
                if let existing {
                    try written.take(target.place, in: existing) {
                        try keep(target, in: existing, isOther: isOther)
                        return true
                    }
                }
                note(attached, at: target)
                if isFetched { await free(attached) }
                return
            case .other where !overwrites: throw target.conflict
            case .other, .nothing: break
            }
            let wasHere = try await lfs.hasLocalCopy(of: attached.file.id)
            if !wasHere, putOff.refusal != nil { return putOff.add(attached) }
            isFetched = isFetched || !wasHere
            do {
                guard try await write(attached, to: target, overwrites: found == .other) else {
                    return report.failed(path, "the device that made it has not uploaded it yet")
                }
            } catch let error where wasHere && DamagedCopy.isTold(by: error) {
                // Another file with these bytes, or another process, may have come first: then it is right by now.
                if try await lfs.mendLocalCopy(of: attached.file.id) {
                    report.message("The local copy of \(path) was damaged; the storage had the right bytes.")
                }
                guard try await write(attached, to: target, overwrites: found == .other) else { throw error }
            }
            note(attached, at: target)
            report.pulled(attached.file, target.path)
            if isFetched { await free(attached) }
        } catch is TakenMeanwhile where !isAgain {
            taken.add(attached, isFetched: isFetched)
        } catch {
            // A run that was interrupted is not a file that failed.
            try Task.checkCancellation()
            if let refusal = StorageError.ofWholeStorage(error) { return putOff.add(attached, refusal) }
            report.failed(path, Words.of(error))
        }
    }

    /// - Parameter overwrites: whether a file goes that is there. Where nothing was, what came meanwhile stays.
    /// - Returns: false when its device has not uploaded it yet.
    private func write(_ attached: AttachedDocument, to target: RestoreTarget, overwrites: Bool) async throws -> Bool {
        guard let contents = try await lfs.contents(of: attached.file) else { return false }
        let folder = try folders.enter(target.place)
        try await target.write(
            contents, of: attached.file, in: folder, overwrites: overwrites,
            naming: { name in try written.take(target.place, in: folder, name) },
            onBytes: { _ in report.worked() })
        return true
    }

    /// Waits for a storage that is away, as long as the run has patience, and goes on with what it could not give. One
    /// that refuses everything is not waited for.
    private func restorePutOff() async throws {
        var pause = Duration.seconds(1)
        while let refusal = putOff.refusal {
            guard refusal.code.isMendedByWaiting else { return putOff.tell() }
            try await SuspendingClock().sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
            let files = putOff.takeAll()
            // One finds out whether it is over.
            try await restore(Array(files.prefix(1)))
            guard putOff.refusal == nil else {
                putOff.giveBack(files.dropFirst())
                continue
            }
            report.handle(.outage(nil), nil)
            try await restore(Array(files.dropFirst()))
        }
    }

    private static let longestPause = Duration.seconds(30)

    /// Leaves a file alone that is there already, unless it shall get its time and its permissions back.
    private func keep(_ target: RestoreTarget, in folder: OpenFolder, isOther: Bool) throws {
        try target.clearPart(in: folder)
        guard isOther else { return report.unchanged(target.path) }
        guard overwrites else {
            report.unchanged(target.path)
            return report.keepsAttributes()
        }
        try target.setAttributes(in: folder)
        report.touched(target.path)
    }

    /// What was fetched only to be written out need not take the space twice. If it stays, it was pulled all the same.
    private func free(_ attached: AttachedDocument) async {
        do {
            try await lfs.evict(attached.file.id)
        } catch let error as LFSError where error.code == .notUploaded || error.code == .pinned {
            // It is wanted here: pinned, or about to be uploaded once more.
        } catch {
            report.message("\(attached.document.path) was pulled, and its local copy stays: \(Words.of(error))")
        }
    }

    /// By now another pull has written most of what it came first to, if not all; it gets some time for the rest.
    private func restoreTaken() async throws {
        var pause = Duration.milliseconds(100)
        var files = taken.takeAll()
        while !files.isEmpty {
            let isLast = pause > Self.longestWaitForOthers
            for file in files { try await restore(file.attached, isAgain: isLast, isFetched: file.isFetched) }
            files = taken.takeAll()
            if files.isEmpty { return }
            try await SuspendingClock().sleep(for: pause)
            pause *= 2
        }
    }

    private static let longestWaitForOthers = Duration.seconds(2)

    // MARK: Folders and links

    private func restore(_ entry: Entry) {
        do {
            let place = try source.layout.place(of: entry)
            switch entry.kind {
            case .folder: if try folders.make(place) { report.made(place.path, isLink: false) }
            case .link(let target):
                let link = RestoreLink(place: place, target: target, attributes: entry.attributes)
                let folder = try folders.enter(place)
                let found = try link.look(in: folder)
                if found == .same {
                    try written.take(place, in: folder) { true }
                    return report.worked()
                }
                if found == .other, !overwrites { throw link.conflict }
                try written.take(place, in: folder) {
                    try link.make(in: folder, overwrites: found == .other)
                    return true
                }
                report.made(place.path, isLink: true)
            }
        } catch {
            report.failed(entry.path, Words.of(error))
        }
    }
}
