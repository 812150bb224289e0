import Crypto
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// Compares what a server says of an object with the local bytes.
///
/// Only the server's own word counts: a checksum that it computed or checked, or an entity tag that is the MD5 of the
/// bytes, or the one over the MD5s of the parts.
struct ObjectProof: Sendable {
    enum Verdict: Sendable {
        /// The object has the local bytes.
        case same
        /// It has others.
        case other
        /// The size is right, and the server says nothing of the bytes.
        case unknown
    }

    /// What is known of how the object was cut into parts.
    enum Layout: Hashable, Sendable {
        /// Nobody knows how it was cut. This is the size that this package would choose.
        case likely(partSize: Int64)
        /// This upload has cut it into parts of this size.
        case known(partSize: Int64)

        var partSize: Int64 {
            switch self {
            case .likely(let size), .known(let size): size
            }
        }
    }

    let source: UploadSource
    /// Whether an entity tag that looks like an MD5 has to be one.
    let tagsAreMD5: Bool
    /// Whether those of uploads in parts are the MD5 over the parts' MD5s.
    var partTagsAreMD5 = true
    let layout: Layout
    /// The MD5 of the local bytes in hex, where somebody knows it already.
    var md5: String?

    /// - Throws: ``StorageError/Code/sourceChanged`` when the local bytes had to be read and are not the recorded ones.
    func decision(on object: StoredObject) async throws -> Verdict {
        guard object.byteCount == source.byteCount else { return .other }
        if let checksum = object.checksum { return checksum == source.sha256 ? .same : .other }
        let words = object.words
        if words.isEmpty { return .unknown }
        // Where it is another one the local bytes are asked: the row's may be wrong.
        if let crc64 = source.crc64, words.contains(.check(.crc64NVME, hex: crc64)) { return .same }
        if let md5, case .md5(let hex) = words.first { return decision(hex == md5, isSure: tagsAreMD5) }
        let local = try await digests(for: words)
        let decisions = words.map { compare($0, local) }
        // When two of the server's words disagree, the one that contradicts the local bytes counts: to send them again
        // costs less than to lose them.
        if decisions.contains(.other) { return .other }
        return decisions.contains(.same) ? .same : .unknown
    }

    /// The object, if it is there and proven to have the local bytes.
    func existing(_ key: ObjectKey, _ client: S3Client) async throws -> RemoteObject? {
        do {
            let object = try await client.stored(key)
            guard case .same = try await decision(on: object) else { return nil }
            return proven(object.remoteObject(key, at: client.place))
        } catch let failure as S3Failure
            where failure.storageError.isMissing || failure.storageError.code == .forbidden
        {
            // Without the right to list a bucket a key that is not there is forbidden. It is only a short cut.
            return nil
        }
    }

    /// The object after an upload that the server called a success. Its SHA-256 is nil when the server says nothing of
    /// the bytes, but the size is right.
    ///
    /// - Throws: ``StorageError/Code/integrity`` when something else is there, or nothing.
    func required(_ key: ObjectKey, _ client: S3Client) async throws -> RemoteObject {
        do {
            let object = try await client.stored(key)
            let described = object.remoteObject(key, at: client.place)
            switch try await decision(on: object) {
            case .same: return proven(described)
            case .unknown: return described
            case .other: throw StorageError.notProven(key)
            }
        } catch let failure as S3Failure where failure.storageError.isMissing {
            throw StorageError.notProven(key)
        }
    }

    func proven(_ object: RemoteObject) -> RemoteObject {
        var object = object
        object.sha256 = source.sha256
        return object
    }

    // MARK: Comparing

    private struct Digests {
        var parts: [PayloadDigest]
        var checks: [CyclicRedundancyCheck.Algorithm: String]
    }

    private func compare(_ word: ServerWord, _ local: Digests) -> Verdict {
        let isKnown = if case .known = layout { true } else { false }
        switch word {
        case .sha256(let hex): return decision(hex == source.sha256, isSure: true)
        case .check(let algorithm, let hex): return decision(hex == local.checks[algorithm], isSure: true)
        case .md5(let hex): return decision(hex == local.parts.first?.md5, isSure: tagsAreMD5)
        case .md5OfParts(let hex, let count):
            let isSame = count == local.parts.count && hex == Self.md5(overParts: local.parts.map(\.md5))
            return decision(isSame, isSure: isKnown && tagsAreMD5 && partTagsAreMD5)
        case .sha256OfParts(let hex, let count):
            let isSame =
                (count ?? local.parts.count) == local.parts.count
                && hex == Self.sha256(overParts: local.parts.map(\.sha256))
            return decision(isSame, isSure: isKnown)
        }
    }

    /// - Parameter isSure: whether a difference can have no other reason than other bytes.
    private func decision(_ isSame: Bool, isSure: Bool) -> Verdict { isSame ? .same : isSure ? .other : .unknown }

    /// Reads the local bytes once, for all that the words speak of.
    private func digests(for words: [ServerWord]) async throws -> Digests {
        var (kinds, checks) = (PayloadDigest.Kinds(), Set<CyclicRedundancyCheck.Algorithm>())
        for word in words {
            switch word {
            case .check(let algorithm, _): checks.insert(algorithm)
            case .md5, .md5OfParts: kinds.insert(.md5)
            case .sha256OfParts: kinds.insert(.sha256)
            case .sha256: break
            }
        }
        let digester = SourceDigester(source, kinds, checks: checks)
        let partSize = words.contains(where: \.isOfParts) ? layout.partSize : source.byteCount
        guard let plan = PartPlan(byteCount: source.byteCount, partSize: max(partSize, 1)) else {
            return Digests(parts: [], checks: [:])
        }
        var parts: [PayloadDigest] = []
        for number in 1...plan.count { parts.append(try await digester.next(Int64(plan.part(number).range.count))) }
        try await digester.requireWhole()
        return Digests(parts: parts, checks: digester.checks)
    }

    /// The entity tag of most servers for an object in parts, without the number of parts; nil when one is not known.
    static func md5(overParts parts: [String?]) -> String? {
        var whole = Insecure.MD5()
        for part in parts {
            guard let bytes = part.flatMap(Hex.bytes) else { return nil }
            whole.update(data: bytes)
        }
        return Hex.text(whole.finalize())
    }

    /// The checksum of an object in parts.
    static func sha256(overParts parts: [String?]) -> String? {
        var whole = SHA256()
        for part in parts {
            guard let bytes = part.flatMap(Hex.bytes) else { return nil }
            whole.update(data: bytes)
        }
        return Hex.text(whole.finalize())
    }
}
