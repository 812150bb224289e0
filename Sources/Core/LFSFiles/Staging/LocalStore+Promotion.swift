package import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension LocalStore {
    package enum Promotion: Sendable {
        case promoted, alreadyThere, missing
    }

    /// Moves a file from a staging area into the store. The call can be repeated, and several may run at once.
    ///
    /// It needs no sync: both places follow from the id, so the file is found in either of them after a power failure.
    /// Blocks the thread.
    ///
    /// A link or a folder at the file's place is left unchanged, and so is the target of a link.
    package func promote(_ id: FileID, from area: StagingArea) throws(SystemError) -> Promotion {
        guard let file = try area.open(id) else { return try contains(id) ? .alreadyThere : .missing }
        // A file in the store is never replaced. A repair may have put the right bytes there in the meantime.
        if let there = try open(id), try there.status().isRegularFile {
            guard try Self.isSame(file, other: there) else { return .alreadyThere }
            // The file was copied, but its original still exists. An error or a crash came in between, or another
            // process is about to remove the original. So the copy may not be durable yet.
            try there.setMode(0o400)
            try there.synchronizeBeforeFolder()
            try directory.synchronize()
            return try take(id, from: area)
        }
        // Through a second name, others could still write to the file, and a new mode would apply to that name too.
        guard try file.status().isSolelyOurs else { return try promoteByCopy(id, from: area) }
        do {
            try file.setMode(0o400)
            try area.directory.rename(id.text, to: directory, as: id.text)
            return .promoted
        } catch let error where error.isMissing {
            return try contains(id) ? .alreadyThere : .missing
        } catch let error where error.isOtherFileSystem {
            return try promoteByCopy(id, from: area)
        }
    }

    private static func isSame(_ file: Descriptor, other: Descriptor) throws(SystemError) -> Bool {
        let (size, otherSize) = (try file.status().byteCount, try other.status().byteCount)
        guard size == otherSize else { return false }
        do {
            let flag = CancellationFlag()
            return try ContentHash(of: file, byteCount: size, flag).hex
                == ContentHash(of: other, byteCount: size, flag).hex
        } catch let error as SystemError {
            throw error
        } catch {
            return false
        }
    }

    /// Copies a file into the store from a folder that must not be changed. Blocks the thread.
    package func promote(_ id: FileID, from folder: PreviousStoreFolder) throws(SystemError) -> Promotion {
        if try contains(id) { return .alreadyThere }
        return try copyIn(id) { () throws(SystemError) in try folder.open(id) }
    }

    /// Promotes a file that cannot be renamed into the store, because it is on another file system or has other names.
    /// The copy is durable under its final name before the original is removed.
    ///
    /// The file may be deleted at the same time. A deletion first removes the original, then copies in progress, then
    /// the file in the store. A copy gets its name before the original is opened. So either the deletion finds the
    /// copy, or the copy finds no original. Nothing is left over in either case.
    private func promoteByCopy(_ id: FileID, from area: StagingArea) throws(SystemError) -> Promotion {
        let promotion = try copyIn(id) { () throws(SystemError) in try area.open(id) }
        return promotion == .promoted ? try take(id, from: area) : promotion
    }

    /// Removes the original of a file that is now in the store. Only one of several callers gets `promoted`.
    private func take(_ id: FileID, from area: StagingArea) throws(SystemError) -> Promotion {
        try area.remove(id) ? .promoted : .alreadyThere
    }

    /// Replaces a file with staged bytes that were verified against the row. Other bytes under its name are useless and
    /// are removed. A folder is moved into quarantine. Blocks the thread.
    package func replace(_ id: FileID, with staged: FileID, from area: StagingArea) throws {
        if try status(of: id)?.isDirectory == true { try clear(id) }
        let file = try area.directory.openForReading(staged.text)
        do {
            try file.setMode(0o400)
            try area.directory.rename(staged.text, to: directory, as: id.text)
        } catch let error where error.isOtherFileSystem {
            try copyIn(staged, as: id, from: area)
        }
        try directory.synchronize()
    }

    /// Copies a staged file into the store under another id, and replaces an existing file. Blocks the thread.
    private func copyIn(_ staged: FileID, as id: FileID, from area: StagingArea) throws(SystemError) {
        let promotion = try copyIn(id) { () throws(SystemError) in try area.open(staged) }
        guard promotion == .promoted else {
            throw SystemError(call: "open", path: area.directory.child(staged.text), errno: ENOENT)
        }
        try area.remove(staged)
    }

    private func copyIn(
        _ id: FileID, _ open: () throws(SystemError) -> Descriptor?
    ) throws(SystemError) -> Promotion {
        let name = Self.copyName(id)
        let copy = try incoming.create(name)
        do {
            guard let source = try open() else {
                try incoming.remove(name)
                return try contains(id) ? .alreadyThere : .missing
            }
            try Self.copy(source, to: copy)
            try copy.setMode(0o400)
            try copy.synchronizeBeforeFolder()
            try incoming.rename(name, to: directory, as: id.text)
            try directory.synchronize()
        } catch {
            try incoming.remove(name)
            if error.isMissing { return try contains(id) ? .alreadyThere : .missing }
            throw error
        }
        return .promoted
    }

    private static func copyName(_ id: FileID) -> String { "\(id.text).\(FileID.make().text)\(copySuffix)" }

    private static func copy(_ source: Descriptor, to copy: Descriptor) throws(SystemError) {
        do {
            let size = try source.status().byteCount
            let leavesHoles = SparseFile.isSparse(source.raw)
            var (count, writeback) = (Int64(0), EarlyWriteback())
            try FileCopy.forEachChunk(of: source, 0..<size, flag: CancellationFlag()) { bytes in
                if leavesHoles { try copy.writeSparsely(bytes) } else { try copy.write(bytes) }
                count += Int64(bytes.count)
                if let due = writeback.next(count) { copy.beginWriteback(due) }
            }
            if leavesHoles { try copy.truncate(to: size) }
            let written = try copy.status().byteCount
            guard written == size else { throw SystemError.shortWrite(copy.path) }
        } catch let error as SystemError {
            throw error
        } catch {
            throw SystemError.shortWrite(copy.path)
        }
    }
}
