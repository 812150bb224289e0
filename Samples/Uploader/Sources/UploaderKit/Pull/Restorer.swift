import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage

/// The restore of attached files to their places, several concurrently. Then it creates folders and links, and finally
/// sets the attributes of the folders.
///
/// A file without a local copy is first downloaded into the local store. The store verifies it, and continues an
/// incomplete download of an earlier run, even of a killed one.
struct Restorer: Sendable {
    let source: RestoreSource
    let lfs: LFSManager
    let report: Report
    private let database: any DatabaseWriter
    /// True if existing files and links with other content are replaced.
    let overwrites: Bool
    private let archive: ArchiveRestore
    private let folders: RestoreFolders
    private let written = WrittenFiles()
    private let putOff: DeferredFiles
    private let taken = TakenFiles()

    /// The number of concurrent downloads.
    static let parallel = 8

    init(
        _ source: RestoreSource, lfs: LFSManager, database: any DatabaseWriter, report: Report, overwrites: Bool,
        archive: ArchiveRestore
    ) async throws {
        self.source = source
        self.lfs = lfs
        self.database = database
        self.report = report
        self.overwrites = overwrites
        self.archive = archive
        putOff = DeferredFiles(report)
        var recorded: [FilePath: FileAttributes] = [:]
        try await source.forEachEntryPage(isAll: true) { page in
            for entry in page.entries where !entry.isLink {
                // A path that leads elsewhere is reported when the folder is created.
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
            // Folders that were already written get their attributes even after an error.
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
            for row in page.unusable { report.failed(FilePath(row.fileID), reason: row.reason) }
            for path in page.notYet { report.passedOver(path, reason: RestoreSource.notYet) }
            for path in page.nothingYet { report.failed(path, reason: RestoreSource.notYet) }
            for path in page.notKept { report.failed(path, reason: RestoreSource.notKept) }
            try await restore(page.documents)
        }
        try await restoreOthers()
        // A name that a power failure undoes must not count as back in its place.
        let unsynced = folders.sync()
        for (folder, error) in unsynced { report.failed(folder, reason: error.description) }
        if unsynced.isEmpty { try await noteBack() }
        // Links are created after all files, so no file is written through them.
        for isLink in [false, true] {
            try await source.forEachEntryPage { page in
                for entry in page.entries where entry.isLink == isLink {
                    restore(entry)
                    if source.filter.listed != nil { listed.insert(source.layout.pathInFolder(entry.path)) }
                }
                if isLink { for row in page.unusable { report.failed(FilePath(row.fileID), reason: row.reason) } }
                try Task.checkCancellation()
            }
        }
        for path in (source.filter.listed ?? []).subtracting(listed).sorted(by: { $0.description < $1.description }) {
            report.failed(FilePath(path), reason: "it is listed, but the database has no such file")
        }
    }

    /// Sets the attributes of the folders. Also reports the number of existing ones that keep other times or
    /// permissions.
    private func finish() {
        let (failures, other) = folders.finish()
        for (folder, error) in failures { report.failed(folder, reason: ErrorMessages.of(error)) }
        report.keptAttributes(folders: other)
    }

    // MARK: Files

    /// Removes the records of moved originals that are back in their places. If one is removed there later, it counts
    /// as missing again.
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

    /// - Parameter isAgain: true if a conflict with another process is reported as a failure.
    private func restore(_ documents: [AttachedDocument], isAgain: Bool = false) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, attached) in documents.enumerated() {
                if index >= Self.parallel { try await group.next() }
                group.addTask { try await restore(attached, isAgain: isAgain) }
            }
            try await group.waitForAll()
        }
    }

    /// - Parameters:
    ///   - isAgain: true if a conflict with another process is reported as a failure.
    ///   - isFetched: true if this run has already downloaded the file.
    private func restore(
        _ attached: AttachedDocument, isAgain: Bool = false, isFetched: Bool = false
    ) async throws {
        let path = attached.document.path
        var isFetched = isFetched
        do {
            let target = try RestoreTarget(attached, layout: source.layout)
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
                    return report.failed(path, reason: "the device that made it has not uploaded it yet")
                }
            } catch let error where wasHere && CorruptCopy.isTold(by: error) {
                // Another file with the same bytes, or another process, may have repaired the copy first.
                if try await lfs.repairLocalCopy(of: attached.file.id) {
                    report.message("The local copy of \(path) was damaged, but the storage had intact bytes.")
                }
                guard try await write(attached, to: target, overwrites: found == .other) else { throw error }
            }
            note(attached, at: target)
            report.pulled(attached.file, path: target.path)
            if isFetched { await free(attached) }
        } catch is ConcurrentlyPushed where !isAgain {
            taken.add(attached, isFetched: isFetched)
        } catch {
            // An interrupted run is not a failure of the file.
            try Task.checkCancellation()
            if let refusal = StorageError.ofWholeStorage(error) { return putOff.add(attached, refusal: refusal) }
            if ArchiveRestore.isNeeded(for: error) {
                return report.failed(path, reason: await archive.reason(for: attached.file, after: error))
            }
            report.failed(path, reason: ErrorMessages.of(error))
        }
    }

    /// - Parameter overwrites: true if an existing file is replaced. Otherwise a file that was created in the meantime
    ///   stays.
    /// - Returns: false if the file's device has not uploaded it yet.
    private func write(_ attached: AttachedDocument, to target: RestoreTarget, overwrites: Bool) async throws -> Bool {
        guard let contents = try await lfs.contents(of: attached.file) else { return false }
        let folder = try folders.enter(target.place)
        try await target.write(
            contents, of: attached.file, in: folder, overwrites: overwrites,
            naming: { name in try written.take(target.place, in: folder, name) },
            onBytes: { _ in report.worked() })
        return true
    }

    /// Restores the files that the storage could not provide, and those that another pull was writing. Each kind may
    /// become the other one: an outage may begin while the other pull is awaited, and another pull during an outage.
    private func restoreOthers() async throws {
        for _ in 0..<Self.maxRounds {
            try await restorePutOff()
            try await restoreTaken()
            guard putOff.refusal?.code.isMendedByWaiting == true else { break }
        }
        try await restorePutOff(isLast: true)
    }

    /// The maximum number of outages during which another pull is awaited.
    private static let maxRounds = 10

    /// Waits for an unavailable storage as long as the run has patience, and then restores the remaining files. Does
    /// not wait for a storage that refuses everything.
    ///
    /// - Parameter isLast: true if a conflict with another process is reported as a failure.
    private func restorePutOff(isLast: Bool = false) async throws {
        var pause = Duration.seconds(1)
        while let refusal = putOff.refusal {
            guard refusal.code.isMendedByWaiting else { return putOff.tell() }
            try await SuspendingClock().sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
            let files = putOff.takeAll()
            // The first file shows whether the outage is over.
            try await restore(Array(files.prefix(1)), isAgain: isLast)
            guard putOff.refusal == nil else {
                putOff.giveBack(files.dropFirst())
                continue
            }
            report.handle(.outage(nil), path: nil)
            try await restore(Array(files.dropFirst()), isAgain: isLast)
        }
    }

    private static let longestPause = Duration.seconds(30)

    /// Keeps an existing file. Restores its time and permissions if requested.
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

    /// Frees the local copy of a file that was only downloaded to be written. If the copy stays, the file was pulled
    /// nevertheless.
    private func free(_ attached: AttachedDocument) async {
        do {
            try await lfs.evict(attached.file.id)
        } catch let error as LFSError where error.code == .notUploaded || error.code == .pinned {
            // The copy is needed locally: it is pinned, or about to be uploaded again.
        } catch {
            report.message("\(attached.document.path) was pulled, but its local copy stays: \(ErrorMessages.of(error))")
        }
    }

    /// Restores the files that another pull was writing. By now it has probably written most of them, and it gets some
    /// time for the rest.
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
            report.failed(entry.path, reason: ErrorMessages.of(error))
        }
    }
}
