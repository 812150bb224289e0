import LFSSystem

/// A small file that has come as a whole and is checked. Its bytes are still in memory.
struct ArrivedFile: Sendable {
    let id: FileID
    let bytes: [UInt8]
}

/// Gives small files that have come at about the same time their places in the store: several threads write and sync
/// them, and the folder is synced once for all.
///
/// For each of them holds what holds for a file alone: it gets its name when its own bytes are on the device, and
/// counts when its name is there too. What goes wrong with one is no failure of the others, but for the sync of the
/// folder.
struct ArrivedFiles: Sendable {
    typealias Outcome = Result<Void, FileError>

    /// A file that waits in `incoming/` for its name.
    private struct Unnamed {
        let arrived: ArrivedFile
        let name: String
        let file: Descriptor
    }

    /// Threads of one batch. A sync waits for the device, so there are more of them than processors.
    private static let threads = 4
    /// To wake a thread for fewer files costs more than it saves.
    private static let smallestShare = 8

    /// Where files are written.
    let incoming: Directory
    /// Where they get their names.
    let directory: Directory

    /// On a fast device one batch after the other keeps up with the network; on a slow one so many files wait that more
    /// of them run beside each other.
    var batches: Batching<ArrivedFile, Outcome> {
        // A batch holds its files open.
        let largest = max(1, min(64, OpenFileLimit.quarter / 4))
        return Batching(upTo: largest, crowd: 16, atOnce: 4) { files in await keep(files) }
    }

    /// Returns what has become of each file, in order. Works in a cancelled task too.
    func keep(_ files: [ArrivedFile]) async -> [Outcome] {
        let share = max(Self.smallestShare, (files.count + Self.threads - 1) / Self.threads)
        if files.count <= share { return await onThread { settled(keep(files[...])) } }
        let shares = await runEach(files.chunks(of: share), atMost: Self.threads) { share in
            await onThread { (start: share.startIndex, outcomes: keep(share)) }
        }
        let outcomes = shares.sorted { $0.start < $1.start }.flatMap(\.outcomes)
        return await onThread { settled(outcomes) }
    }

    /// Syncs the folder, without which none of the files counts.
    private func settled(_ outcomes: [Outcome]) -> [Outcome] {
        do throws(SystemError) {
            try directory.synchronize()
            return outcomes
        } catch {
            // Whether the names would outlast a power cut is not known.
            let failure = FileError.keeping(error, at: directory.path)
            return outcomes.map { outcome in if case .success = outcome { .failure(failure) } else { outcome } }
        }
    }

    /// The device begins with each file while the next ones are written, so that the syncs find little left to do.
    private func keep(_ share: ArraySlice<ArrivedFile>) -> [Outcome] {
        let written = share.map(write)
        return written.map { file in
            switch file {
            case .success(let unnamed): seal(unnamed)
            case .failure(let failure): .failure(failure)
            }
        }
    }

    private func write(_ arrived: ArrivedFile) -> Result<Unnamed, FileError> {
        // A name of its own, since somebody else may fetch the same file.
        let name = "\(arrived.id.text).\(FileID.make().text)"
        let file: Descriptor
        do throws(SystemError) {
            file = try incoming.create(name, mode: 0o400)
        } catch {
            return .failure(FileError.keeping(error, at: directory.path))
        }
        do throws(SystemError) {
            try file.write(arrived.bytes)
        } catch {
            return .failure(removing(name, after: error))
        }
        file.beginWriteback(0..<Int64(arrived.bytes.count))
        return .success(Unnamed(arrived: arrived, name: name, file: file))
    }

    private func seal(_ unnamed: Unnamed) -> Outcome {
        do {
            try unnamed.file.synchronizeBeforeFolder()
            try requireWhole(unnamed)
            try name(unnamed)
            return .success(())
        } catch {
            return .failure(removing(unnamed.name, after: error))
        }
    }

    /// What is on the disk has to be as long as what was written, whatever the writes have said.
    private func requireWhole(_ unnamed: Unnamed) throws {
        let (kept, count) = (try unnamed.file.status().byteCount, unnamed.arrived.bytes.count)
        guard kept != count else { return }
        throw FileError(
            .system, "\(directory.path) took \(kept) of \(count) bytes without an error.", path: directory.path)
    }

    private func name(_ unnamed: Unnamed) throws(SystemError) {
        do throws(SystemError) {
            try incoming.renameExclusively(unnamed.name, to: directory, as: unnamed.arrived.id.text)
        } catch {
            guard error.isExisting else { throw error }
            // Another download was faster.
            try incoming.remove(unnamed.name)
        }
    }

    /// Leaves nothing of a file that has failed. Returns the error to throw, with a word on what stays nevertheless.
    private func removing(_ name: String, after error: any Error) -> FileError {
        let failure = FileError.keeping(error, at: directory.path)
        do throws(SystemError) {
            try incoming.remove(name)
            return failure
        } catch {
            return FileError(
                failure.code, "\(failure.message) The unfinished file stays until the next opening: \(error)",
                path: failure.path, cause: failure.cause)
        }
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        let waiter = Waiter<Value>()
        BlockingPool.shared.start { waiter.resume(returning: body()) }
        return await waiter.wait()
    }
}
