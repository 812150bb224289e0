import Crypto
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// A comparison of an object with the local bytes, based on the server's metadata.
///
/// Only evidence from the server counts: a checksum that it computed or checked, an entity tag that is the MD5 of the
/// bytes, or one that is the MD5 of the parts' MD5s.
struct ObjectConfirmation: Sendable {
    enum Verdict: Sendable {
        /// The object has the local bytes.
        case same
        /// The object has other bytes.
        case other
        /// The size matches, but the server reports no checksum of the bytes.
        case unknown
    }

    /// The known facts about the division of the object into parts.
    enum Layout: Hashable, Sendable {
        /// The division is unknown. This is the part size that this package would choose.
        case likely(partSize: Int64)
        /// This upload used parts of this size.
        case known(partSize: Int64)

        var partSize: Int64 {
            switch self {
            case .likely(let size), .known(let size): size
            }
        }
    }

    let source: UploadSource
    /// True if an entity tag that looks like an MD5 must be the MD5 of the bytes.
    let tagsAreMD5: Bool
    /// True if the tag of a multipart upload is the MD5 of the parts' MD5s.
    var partTagsAreMD5 = true
    let layout: Layout
    /// The MD5 of the local bytes in hex, if already known.
    var md5: String?

    /// - Throws: ``StorageError/Code/sourceChanged`` when the local bytes had to be read and are not the recorded ones.
    func decision(on object: StoredObject) async throws -> Verdict {
        guard object.byteCount == source.byteCount else { return .other }
        if let checksum = object.checksum { return checksum == source.sha256 ? .same : .other }
        let words = object.words
        if words.isEmpty { return .unknown }
        // If the CRC differs, the local bytes are read, because the recorded CRC may be wrong.
        if let crc64 = source.crc64, words.contains(.check(.crc64NVME, hex: crc64)) { return .same }
        if let md5, case .md5(let hex) = words.first { return decision(hex == md5, isSure: tagsAreMD5) }
        let local = try await digests(for: words)
        let decisions = words.map { compare($0, local: local) }
        // If two checksums of the server disagree, the one that contradicts the local bytes wins. Another upload costs
        // less than lost bytes.
        if decisions.contains(.other) { return .other }
        return decisions.contains(.same) ? .same : .unknown
    }

    /// Returns the object if it exists and is confirmed to have the local bytes.
    func existing(_ key: ObjectKey, client: S3Client) async throws -> RemoteObject? {
        do {
            let object = try await client.stored(key)
            guard case .same = try await decision(on: object) else { return nil }
            return proven(object.remoteObject(key, at: client.place))
        } catch let failure as S3Failure
            where failure.storageError.isMissing || failure.storageError.code == .forbidden
        {
            // Without the right to list the bucket, a missing key is forbidden. This check is only a shortcut.
            return nil
        }
    }

    /// Returns the object after an upload that the server reported as successful. Its SHA-256 is nil if the size
    /// matches but the server reports no checksum.
    ///
    /// - Throws: ``StorageError/Code/integrity`` when the object differs or is missing.
    func required(_ key: ObjectKey, client: S3Client) async throws -> RemoteObject {
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

    // MARK: Comparison

    private struct Digests {
        var parts: [PayloadDigest]
        var checks: [CyclicRedundancyCheck.Algorithm: String]
    }

    private func compare(_ word: ServerChecksum, local: Digests) -> Verdict {
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

    /// - Parameter isSure: true if only different bytes can explain a difference.
    private func decision(_ isSame: Bool, isSure: Bool) -> Verdict { isSame ? .same : isSure ? .other : .unknown }

    /// Reads the local bytes once, and computes all digests that the evidence needs.
    private func digests(for words: [ServerChecksum]) async throws -> Digests {
        var (kinds, checks) = (PayloadDigest.Kinds(), Set<CyclicRedundancyCheck.Algorithm>())
        for word in words {
            switch word {
            case .check(let algorithm, _): checks.insert(algorithm)
            case .md5, .md5OfParts: kinds.insert(.md5)
            case .sha256OfParts: kinds.insert(.sha256)
            case .sha256: break
            }
        }
        let digester = SourceDigester(source, kinds: kinds, checks: checks)
        let partSize = words.contains(where: \.isOfParts) ? layout.partSize : source.byteCount
        guard let plan = PartPlan(byteCount: source.byteCount, partSize: max(partSize, 1)) else {
            return Digests(parts: [], checks: [:])
        }
        var parts: [PayloadDigest] = []
        for number in 1...plan.count { parts.append(try await digester.next(Int64(plan.part(number).range.count))) }
        try await digester.requireWhole()
        return Digests(parts: parts, checks: digester.checks)
    }

    /// Returns the entity tag of most servers for a multipart object, without the number of parts. nil if a part's MD5
    /// is unknown.
    static func md5(overParts parts: [String?]) -> String? {
        var whole = Insecure.MD5()
        for part in parts {
            guard let bytes = part.flatMap(Hex.bytes) else { return nil }
            whole.update(data: bytes)
        }
        return Hex.text(whole.finalize())
    }

    /// Returns the checksum of a multipart object. nil if a part's SHA-256 is unknown.
    static func sha256(overParts parts: [String?]) -> String? {
        var whole = SHA256()
        for part in parts {
            guard let bytes = part.flatMap(Hex.bytes) else { return nil }
            whole.update(data: bytes)
        }
        return Hex.text(whole.finalize())
    }
}
