import Foundation
public import LFSStorage
import LFSSystem
import Synchronization

/// Devices that share a remote storage: a folder, a bucket. No server of the app's own is needed.
///
/// Each device has one object, `<prefix>/<its id>`, and writes no other.
public struct RemoteStorageTransport: CompanionTransport {
    private let storage: any RemoteStorage
    private let prefix: String
    /// The storage's kind, as `StorageCapabilities` has it.
    public var name: String { storage.capabilities.kind }
    /// See ``init(_:prefix:isConfidential:limits:)``.
    public let limits: CompanionLimits
    /// See ``init(_:prefix:isConfidential:limits:)``.
    public let isConfidential: Bool

    /// Devices that share a storage.
    ///
    /// - Parameters:
    ///   - storage: is used as it is; retries are the router's.
    ///   - prefix: segments of `a-z 0-9 . _ -` with `/` between them, for these settings alone, the same on all
    ///     devices. A signing server gives everything below the first segment to the account that writes there first.
    ///     So a prefix such as `settings`, which other users have as well, serves one of them only: there it begins
    ///     with an id that the user's devices alone have in common.
    ///   - isConfidential: whether nobody but the user can read what is there. Values of encrypted keys are stored
    ///     there without their encryption.
    ///   - limits: how much of it is read.
    /// - Throws: ``SettingsError/Code/invalidName`` for a prefix that no key can begin with.
    public init(
        _ storage: any RemoteStorage, prefix: String, isConfidential: Bool = false,
        limits: CompanionLimits = CompanionLimits()
    ) throws {
        (self.storage, self.prefix) = (storage, prefix)
        (self.isConfidential, self.limits) = (isConfidential, limits)
        do { _ = try key(FileID.make()) } catch {
            throw SettingsError(
                .invalidName,
                "\(prefix.debugDescription) cannot be the beginning of objects' keys: \(error.message)", cause: error)
        }
    }

    private func key(_ device: FileID) throws(StorageError) -> ObjectKey { try ObjectKey("\(prefix)/\(device.text)") }

    /// Stores the state in the place of the one before.
    ///
    /// - Throws: what the storage throws; ``SettingsError/Code/tooLarge``.
    public func publish(_ state: CompanionState) async throws {
        let bytes = state.encoded()
        guard bytes.count <= limits.stateByteCount else {
            throw CompanionState.tooLarge(Int64(bytes.count), limits)
        }
        let source = UploadSource(byteCount: Int64(bytes.count), sha256: Self.hash(bytes)) { buffer, offset in
            let rest = bytes.dropFirst(Int(offset)).prefix(buffer.count)
            rest.copyBytes(to: buffer)
            return rest.count
        }
        _ = try await storage.upload(source, to: try key(state.deviceID), session: UploadSession())
    }

    /// Reads the objects that have the names of devices, one after the other: the own one by its key, the others as
    /// they are listed. An object of which the storage names the same checksum, or the same entity tag, as before is
    /// not read again.
    ///
    /// Of devices beyond the limit a hundred are named.
    ///
    /// - Throws: what the storage throws; what `take` throws.
    public func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        let own = FileID(text: query.device)
        if let own, let reading = try await ownReading(own, query) { try await take(reading) }
        var (request, count) = (ListRequest(prefix: prefix + "/"), 0)
        repeat {
            let page = try await storage.list(request)
            for object in page.objects {
                guard let device = device(of: object.key), device != own else { continue }
                count += 1
                guard count <= limits.deviceCount else {
                    try await take(tooMany(device))
                    if count == limits.deviceCount + CompanionStatus.mostProblems { return }
                    continue
                }
                if let reading = try await reading(of: object, device, query) { try await take(reading) }
            }
            request.continuation = page.next
        } while request.continuation != nil
    }

    /// Nil for what is no device's: other programs may have files there.
    private func device(of key: ObjectKey) -> FileID? {
        FileID(text: String(key.rawValue.dropFirst(prefix.utf8.count + 1)))
    }

    /// Nil where nothing is published.
    private func ownReading(_ device: FileID, _ query: CompanionQuery) async throws -> CompanionReading? {
        let object: RemoteObject
        do {
            object = try await storage.head(try key(device))
        } catch let error as StorageError where error.isMissing {
            return nil
        }
        return try await reading(of: object, device, query)
    }

    /// Nil for an object that went meanwhile.
    private func reading(
        of object: RemoteObject, _ device: FileID, _ query: CompanionQuery
    ) async throws -> CompanionReading? {
        if let known = query.versions[device.text], known == Self.version(of: object) {
            return .unchanged(device: device.text)
        }
        guard object.byteCount <= limits.stateByteCount else {
            return .unreadable(device: device.text, CompanionState.tooLarge(object.byteCount, limits))
        }
        let (content, limit) = (Content(), limits.stateByteCount)
        let found: RemoteObject
        do {
            found = try await storage.download(
                DownloadRequest(object.key),
                // What the listing says of the size proves nothing.
                into: DownloadSink { bytes in try content.append(bytes, limit: limit) })
        } catch let error as StorageError where error.isMissing {
            return nil
        } catch let error as StorageError where Self.isAboutObject(error) {
            return .unreadable(
                device: device.text, SettingsError(.transportFailed, error.message, cause: error))
        } catch is Content.TooLong {
            return .unreadable(device: device.text, CompanionState.tooLarge(Int64(limit) + 1, limits))
        }
        do throws(SettingsError) {
            let state = try CompanionState(encoded: content.bytes, limits: limits)
            guard state.deviceID == device else { throw Self.misplaced }
            return .state(state, version: Self.version(of: object, readAs: found, content))
        } catch {
            return .unreadable(device: device.text, error)
        }
    }

    private static func version(of object: RemoteObject) -> String? {
        object.sha256.map { "sha256 \($0)" } ?? object.entityTag.map { "tag \($0)" }
    }

    /// Nil unless what was read is what was named before: it may have been replaced between the two.
    private static func version(of object: RemoteObject, readAs found: RemoteObject, _ content: Content) -> String? {
        let isSame = object.sha256.map { $0 == hash(content.bytes) } ?? (object.entityTag == found.entityTag)
        return isSame ? version(of: object) : nil
    }

    private static func hash(_ bytes: Data) -> String {
        bytes.withUnsafeBytes { buffer in
            var hash = ContentHash()
            hash.update(buffer)
            return hash.hex
        }
    }

    /// Whether one object alone cannot be had, so that the others can be.
    private static func isAboutObject(_ error: StorageError) -> Bool {
        error.code == .integrity || !(error.isRetryable || error.isAboutStorage)
    }

    /// The bytes of one download.
    ///
    /// Owner of them: one mutex.
    private final class Content: Sendable {
        struct TooLong: Error {}

        private let data = Mutex(Data())

        var bytes: Data { data.withLock { $0 } }

        func append(_ bytes: UnsafeRawBufferPointer, limit: Int) throws {
            let isTooLong = data.withLock { data in
                guard bytes.count <= limit - data.count else { return true }
                data.append(contentsOf: bytes)
                return false
            }
            if isTooLong { throw TooLong() }
        }
    }

    private func tooMany(_ device: FileID) -> CompanionReading {
        .unreadable(
            device: device.text,
            SettingsError(
                .tooManyDevices,
                """
                There are more than \(limits.deviceCount) other devices, and this one is not read: remove the objects \
                of devices that are no more, or raise CompanionLimits.deviceCount.
                """))
    }

    private static var misplaced: SettingsError {
        SettingsError(
            .corrupted,
            """
            What stands under the id of a device is another device's: somebody has copied or renamed it. Nothing of it \
            is taken: remove it from the transport.
            """)
    }
}
