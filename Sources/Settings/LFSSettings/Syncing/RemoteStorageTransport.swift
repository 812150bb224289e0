import Crypto
import Foundation
public import LFSStorage
import LFSSystem
import Synchronization

/// A transport over a remote storage that the devices share, such as a folder or a bucket. It needs no server.
///
/// Each device has one object, `<prefix>/<its id>`, and writes no other.
public struct RemoteStorageTransport: CompanionTransport {
    private let storage: any RemoteStorage
    private let prefix: String
    /// The kind of the storage, from its `StorageCapabilities`.
    public var name: String { storage.capabilities.kind }
    /// See ``init(_:prefix:isConfidential:limits:)``.
    public let limits: CompanionLimits
    /// See ``init(_:prefix:isConfidential:limits:)``.
    public let isConfidential: Bool

    /// Creates a transport over a storage that the devices share.
    ///
    /// - Parameters:
    ///   - storage: the storage, used as it is. The router does the retries.
    ///   - prefix: segments of `a-z 0-9 . _ -`, separated by `/`. It is the same on all devices and used only for these
    ///     settings. A signing server reserves everything below the first segment for the account that writes there
    ///     first. With such a server, a prefix that several users have, such as `settings`, works for one of them only.
    ///     Let the prefix begin with an id that only the user's devices share.
    ///   - isConfidential: true if only the user can read the objects. Values of encrypted keys are stored there
    ///     without their encryption.
    ///   - limits: the limits on the data that is read.
    /// - Throws: ``SettingsError/Code/invalidName`` for a prefix that cannot be the beginning of a key.
    public init(
        _ storage: any RemoteStorage, prefix: String, isConfidential: Bool = false,
        limits: CompanionLimits = CompanionLimits()
    ) throws {
        self.storage = storage
        self.prefix = prefix
        self.isConfidential = isConfidential
        self.limits = limits
        do { _ = try key(FileID.make()) } catch {
            throw SettingsError(
                .invalidName,
                message: "\(prefix.debugDescription) cannot be a prefix of object keys: \(error.message)",
                cause: error)
        }
    }

    private func key(_ device: FileID) throws(StorageError) -> ObjectKey { try ObjectKey("\(prefix)/\(device.text)") }

    /// Stores the state, and replaces the earlier one.
    ///
    /// - Throws: the errors of the storage, and ``SettingsError/Code/tooLarge``.
    public func publish(_ state: CompanionState) async throws {
        let bytes = try state.encoded(within: limits)
        let source = UploadSource(byteCount: Int64(bytes.count), sha256: Self.hash(bytes)) { buffer, offset in
            let rest = bytes.dropFirst(Int(offset)).prefix(buffer.count)
            rest.copyBytes(to: buffer)
            return rest.count
        }
        _ = try await storage.upload(source, to: try key(state.deviceID), session: UploadSession())
    }

    /// Reads the objects whose names are device ids, one at a time: this device's object by its key, the others from
    /// the listing. An object is not read again if the storage lists the same checksum or entity tag as before.
    ///
    /// Of the devices beyond the limit, at most 100 are reported.
    ///
    /// - Throws: the errors of the storage and of `take`.
    public func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        let own = FileID(text: query.device)
        if let own, let reading = try await ownReading(own, query: query) { try await take(reading) }
        var (request, count) = (ListRequest(prefix: prefix + "/"), 0)
        var watch = ListingWatch()
        repeat {
            let page = try await storage.list(request)
            try watch.check(page.objects.map(\.key.rawValue), next: page.next)
            for object in page.objects {
                guard let device = device(of: object.key), device != own else { continue }
                count += 1
                guard count <= limits.deviceCount else {
                    try await take(tooMany(device))
                    if count == limits.deviceCount + CompanionStatus.mostProblems { return }
                    continue
                }
                if let reading = try await reading(of: object, device, query: query) { try await take(reading) }
            }
            request.continuation = page.next
        } while request.continuation != nil
    }

    /// Returns the id of the device that has published an object. Nil for an object of another program.
    private func device(of key: ObjectKey) -> FileID? {
        FileID(text: String(key.rawValue.dropFirst(prefix.utf8.count + 1)))
    }

    /// Returns nil if no state is published.
    private func ownReading(_ device: FileID, query: CompanionQuery) async throws -> CompanionReading? {
        let object: RemoteObject
        do {
            object = try await storage.head(try key(device))
        } catch let error as StorageError where error.isMissing {
            return nil
        }
        return try await reading(of: object, device, query: query)
    }

    /// Returns nil for an object that was deleted in the meantime.
    private func reading(
        of object: RemoteObject, _ device: FileID, query: CompanionQuery
    ) async throws -> CompanionReading? {
        if let known = query.versions[device.text], known == Self.version(of: object) {
            return .unchanged(device: device.text)
        }
        guard object.byteCount <= limits.stateByteCount else {
            return .unreadable(device: device.text, CompanionState.tooLarge(object.byteCount, limits: limits))
        }
        let data = Mutex(Data())
        let limit = limits.stateByteCount
        let found: RemoteObject
        do {
            found = try await storage.download(
                DownloadRequest(object.key),
                // The size in the listing is not trusted.
                into: DownloadSink { bytes in
                    try data.withLock { data in
                        guard bytes.count <= limit - data.count else { throw TooLong() }
                        data.append(contentsOf: bytes)
                    }
                })
        } catch let error as StorageError where error.isMissing {
            return nil
        } catch let error as StorageError where Self.isAboutObject(error) {
            return .unreadable(
                device: device.text, SettingsError(.transportFailed, message: error.message, cause: error))
        } catch is TooLong {
            return .unreadable(device: device.text, CompanionState.tooLarge(Int64(limit) + 1, limits: limits))
        }
        do throws(SettingsError) {
            let content = data.withLock { $0 }
            let state = try CompanionState(encoded: content, limits: limits)
            guard state.deviceID == device else { throw Self.misplaced }
            return .state(state, version: Self.version(of: object, readAs: found, content))
        } catch {
            return .unreadable(device: device.text, error)
        }
    }

    private static func version(of object: RemoteObject) -> String? {
        object.sha256.map { "sha256 \($0)" } ?? object.entityTag.map { "tag \($0)" }
    }

    /// Returns nil unless the listed object is the one that was read. It may have been replaced in between.
    private static func version(of object: RemoteObject, readAs found: RemoteObject, _ content: Data) -> String? {
        let isSame = object.sha256.map { $0 == hash(content) } ?? (object.entityTag == found.entityTag)
        return isSame ? version(of: object) : nil
    }

    private static func hash(_ bytes: Data) -> String { ContentHash.hex(of: SHA256.hash(data: bytes)) }

    /// Returns true if the error concerns this object only, so that the others can be read.
    private static func isAboutObject(_ error: StorageError) -> Bool {
        error.code == .integrity || !(error.isRetryable || error.isAboutStorage)
    }

    private struct TooLong: Error {}

    private func tooMany(_ device: FileID) -> CompanionReading {
        .unreadable(
            device: device.text,
            SettingsError(
                .tooManyDevices,
                message: """
                    There are more than \(limits.deviceCount) other devices, so this one is not read. Remove the \
                    objects of devices that no longer exist, or raise CompanionLimits.deviceCount.
                    """))
    }

    private static var misplaced: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The state under the id of a device belongs to another device, because someone has copied or renamed \
                it. It is ignored. Remove it from the transport.
                """)
    }
}
