import LFSSystem

/// A small file that has been downloaded completely and verified. Its bytes are still in memory.
struct DownloadedFile: Sendable {
    let id: FileID
    let bytes: [UInt8]
}

/// A writer that puts small files into the store together after they arrived at about the same time. Several threads
/// write and sync them, and the folder is synced once for all.
///
/// Each file keeps the guarantees of a file that is written alone. It gets its name when its bytes are on the device,
/// and is complete when its name is there too. A failure of one file does not affect the others, except for a failed
/// sync of the folder.
struct DownloadedFiles: Sendable {
    typealias Outcome = Result<Void, FileError>

    /// A file in `incoming/` that does not have its final name yet.
    private struct UnlinkedFile {
        let arrived: DownloadedFile
        let name: String
        let file: Descriptor
    }

    /// The number of threads for one batch. A sync waits for the device, so it may exceed the number of processors.
    private static let threads = 4
    /// The smallest number of files per thread. Waking a thread for fewer files costs more than it saves.
    private static let smallestShare = 8

    /// The folder where files are written.
    let incoming: Directory
    /// The folder where files get their final names.
    let directory: Directory

    /// The batcher. On a fast device, consecutive batches keep up with the network. On a slow device more files wait,
    /// so that several batches run concurrently.
    var batches: Batcher<DownloadedFile, Outcome> {
        // A batch holds its files open, so the limit on open files bounds its size.
        let largest = max(1, min(64, OpenFileLimit.share / 4))
        return Batcher(upTo: largest, crowd: 16, atOnce: 4) { files in await keep(files) }
    }

    /// Stores the files and returns their outcomes in order. Also works in a cancelled task.
    func keep(_ files: [DownloadedFile]) async -> [Outcome] {
        let share = max(Self.smallestShare, (files.count + Self.threads - 1) / Self.threads)
        if files.count <= share { return await onThread { settled(keep(files[...])) } }
        let shares = await runEach(files.chunks(of: share), atMost: Self.threads) { share in
            await onThread { (start: share.startIndex, outcomes: keep(share)) }
        }
        let outcomes = shares.sorted { $0.start < $1.start }.flatMap(\.outcomes)
        return await onThread { settled(outcomes) }
    }

    /// Syncs the folder. If that fails, all files of the batch fail.
    private func settled(_ outcomes: [Outcome]) -> [Outcome] {
        do throws(SystemError) {
            try directory.synchronize()
            return outcomes
        } catch {
            // The names may not survive a power failure.
            let failure = FileError.keeping(error, at: directory.path)
            return outcomes.map { outcome in if case .success = outcome { .failure(failure) } else { outcome } }
        }
    }

    /// Writes the files of a share, and then seals them. The device can store the first files while the next ones are
    /// written, so the syncs take less time.
    private func keep(_ share: ArraySlice<DownloadedFile>) -> [Outcome] {
        let written = share.map(write)
        return written.map { file in
            switch file {
            case .success(let unnamed): seal(unnamed)
            case .failure(let failure): .failure(failure)
            }
        }
    }

    private func write(_ arrived: DownloadedFile) -> Result<UnlinkedFile, FileError> {
        // The name is unique, because another process may download the same file.
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
        return .success(UnlinkedFile(arrived: arrived, name: name, file: file))
    }

    private func seal(_ unnamed: UnlinkedFile) -> Outcome {
        do {
            try unnamed.file.synchronizeBeforeFolder()
            try requireWhole(unnamed)
            try name(unnamed)
            return .success(())
        } catch {
            return .failure(removing(unnamed.name, after: error))
        }
    }

    /// Checks that the file is as long as the written bytes, even though all writes reported success.
    private func requireWhole(_ unnamed: UnlinkedFile) throws {
        let (kept, count) = (try unnamed.file.status().byteCount, unnamed.arrived.bytes.count)
        guard kept != count else { return }
        throw FileError(
            .system, message: "\(directory.path) stored \(kept) of \(count) bytes without an error.",
            path: directory.path
        )
    }

    private func name(_ unnamed: UnlinkedFile) throws(SystemError) {
        do throws(SystemError) {
            try incoming.renameExclusively(unnamed.name, to: directory, as: unnamed.arrived.id.text)
        } catch {
            guard error.isExisting else { throw error }
            // Another download was faster.
            try incoming.remove(unnamed.name)
        }
    }

    /// Removes a failed file. Returns the error to throw. If the removal fails too, its message names the leftover.
    private func removing(_ name: String, after error: any Error) -> FileError {
        let failure = FileError.keeping(error, at: directory.path)
        do throws(SystemError) {
            try incoming.remove(name)
            return failure
        } catch {
            return FileError(
                failure.code, message: "\(failure.message) The unfinished file stays until the next opening: \(error)",
                path: failure.path, cause: failure.cause)
        }
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        let waiter = Waiter<Value>()
        BlockingPool.shared.start { waiter.resume(returning: body()) }
        return await waiter.wait()
    }
}
