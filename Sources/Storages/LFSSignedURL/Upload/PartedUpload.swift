import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// A multipart upload that the signing server has started. It sends the parts, and the server completes it.
///
/// The order makes it safe. The upload's token is saved before the first part is sent, and the object appears when all
/// parts have arrived. Parts of an earlier attempt are used only if the store lists them and they match the local
/// bytes.
struct PartedUpload: Sendable {
    let client: SigningClient
    let permits: AsyncSemaphore
    let key: ObjectKey
    let source: UploadSource
    let session: UploadSession
    /// The server's token for this upload.
    let upload: String
    let plan: PartPlan
    let wantsMD5: Bool
    /// True if the upload was started with permission to replace an object.
    let replaces: Bool

    /// The result of the upload.
    enum End: Sendable {
        case complete(SigningAnswer.Object)
        /// The server does not know the upload. It was completed and only the reply was lost, or it was aborted.
        case lost
        /// The resulting object does not have this content.
        case otherObject(SigningFailure, replaces: Bool)
    }

    func begin() async throws -> End {
        try await session.save(PartsCheckpoint(upload: upload, partSize: plan.partSize, source).encoded())
        return try await run(present: [])
    }

    func resume() async throws -> End {
        let present: [SigningAnswer.Part]
        do {
            present = try await state()
        } catch let failure as SigningFailure where failure.code == .lostUpload {
            return try await completed()
        }
        return try await run(present: present)
    }

    /// Handles an upload that the server does not know. If only its last reply was lost, the digests of the parts may
    /// confirm the object without reading it.
    private func completed() async throws -> End {
        if replaces {
            // The existing object is known or suspected to be damaged.
            try await forget()
            return .lost
        }
        return try await end {
            let digester = SourceDigester(source, kinds: kinds)
            var digests: [PayloadDigest] = []
            for number in 1...plan.count {
                digests.append(try await digester.next(Int64(plan.part(number).range.count)))
            }
            try await digester.requireWhole()
            return try await complete(digests)
        }
    }

    /// Returns the parts that the store has received.
    func state() async throws -> [SigningAnswer.Part] {
        guard let present = try await client.ask(.state, object: object).requireNoError(key).present else {
            throw SigningAnswer.nonsense(key)
        }
        guard present.count <= plan.count else {
            throw StorageError(
                .serverError, message: "The signing server lists \(present.count) of \(plan.count) parts.", key: key)
        }
        return present
    }

    /// The digests of each part that are compared.
    var kinds: PayloadDigest.Kinds { wantsMD5 ? [.sha256, .md5] : .sha256 }

    private var object: SigningObject {
        var object = SigningObject()
        object.upload = upload
        return object
    }

    private func run(present: [SigningAnswer.Part]) async throws -> End {
        try await end {
            let sent = SentParts()
            let digests = try await sendParts(present, sent: sent).digests
            do {
                return try await complete(digests)
            } catch let failure as SigningFailure where failure.code == .incomplete {
                let (digests, areTagsMD5) = try await sendParts(state(), sent: sent)
                return try await complete(digests, withMD5: areTagsMD5)
            }
        }
    }

    private func end(_ body: () async throws -> SigningAnswer.Object) async throws -> End {
        do {
            return .complete(try await body())
        } catch let failure as SigningFailure where failure.code == .lostUpload || failure.code == .missing {
            try await forget()
            return .lost
        } catch let failure as SigningFailure where failure.code == .integrity {
            try await forget()
            return .otherObject(failure, replaces: replaces)
        } catch let failure as StoreFailure where failure.isMissing {
            // The store no longer knows the upload. The signing server confirms whether this is true.
            guard try await client.ask(.state, object: object).error?.code == .lostUpload else { throw failure }
            try await forget()
            return .lost
        } catch let error as StorageError where error.code == .sourceChanged || error.code == .integrity {
            // The local bytes have changed, so the upload can never be completed. Or the store has other bytes for a
            // part, so its list of parts cannot be trusted. The parts on the store cost money.
            _ = try await client.ask(.abort, object: object).requireNoError(key)
            try await forget()
            throw error
        }
    }

    /// Sends the missing parts.
    ///
    /// - Parameter sent: the parts that this attempt has already sent and the store has accepted. If the tag of such a
    ///   part differs from its MD5, tags are not MD5s.
    /// - Returns: the digests of all parts, in order, and false if such a tag was found.
    private func sendParts(
        _ present: [SigningAnswer.Part], sent: SentParts
    ) async throws -> (digests: [PayloadDigest], areTagsMD5: Bool) {
        let there = Dictionary(present.map { ($0.number, $0) }) { first, _ in first }
        let earlier = sent.numbers.withLock { $0 }
        let areTagsMD5 = Mutex(true)
        let all = Mutex<[PayloadDigest]>([])
        let progress = PartProgress(session)
        let digester = SourceDigester(source, kinds: kinds)
        try await PartSending(plan, digester: digester, permits: permits).run { part, digest in
            all.withLock { $0.append(digest) }
            guard let found = there[Int64(part.number)] else { return false }
            if !found.has(part, digest: digest) {
                guard earlier.contains(part.number), found.saysOnlyTag(part) else { return false }
                areTagsMD5.withLock { $0 = false }
            }
            progress.has(part)
            return true
        } send: { part, digest in
            do {
                try await send(part, digest: digest, progress: progress)
                sent.numbers.withLock { _ = $0.insert(part.number) }
                progress.has(part)
            } catch {
                progress.lost(part)
                throw error
            }
        }
        return (all.withLock { $0 }, areTagsMD5.withLock { $0 })
    }

    private func send(_ part: PartPlan.Part, digest: PayloadDigest, progress: PartProgress) async throws {
        do {
            try await sendOnce(part, digest: digest, progress: progress)
        } catch let failure as StoreFailure where failure.mayBeSignature {
            try await sendOnce(part, digest: digest, progress: progress)
        }
    }

    private func sendOnce(_ part: PartPlan.Part, digest: PayloadDigest, progress: PartProgress) async throws {
        let action = try await client.ask(.parts, object: request(for: part, digest: digest)).requiredAction(
            .parts, key: key)
        var request = try StoreRequest(
            action, method: .put, body: .source(source, range: part.range), requiresTLS: client.base.origin.isSecure,
            about: key
        ).request
        request.onProgress = { progress.moved(part, to: $0) }
        let response = try await client.send(request, about: key)
        // If the store returns no checksum, the server compares all parts on completion. A different entity tag proves
        // nothing, because it may not be an MD5.
        if let proof = action.proof, proof.header.lowercased() != "etag",
            !proof.isMet(by: response.headers[proof.header])
        {
            throw StorageError.notProven(key)
        }
    }

    /// Returns the request for the signature of a part.
    func request(for part: PartPlan.Part, digest: PayloadDigest) -> SigningObject {
        var object = object
        object.number = Int64(part.number)
        object.size = Int64(part.range.count)
        object.sha256 = digest.sha256
        object.md5 = digest.md5
        return object
    }

    /// Asks the server to complete the upload.
    ///
    /// - Parameter withMD5: false to make the server read the new object instead of comparing the parts' tags.
    /// - Throws: ``SigningFailure``, including ``WireFailure/Code/incomplete``.
    private func complete(_ digests: [PayloadDigest], withMD5: Bool = true) async throws -> SigningAnswer.Object {
        var object = object
        object.partsSHA256 = Self.digest(SHA256.self, digests: digests.map(\.sha256))
        if wantsMD5, withMD5 { object.partsMD5 = Self.digest(Insecure.MD5.self, digests: digests.map(\.md5)) }
        return try await client.askPatiently(.complete, object: object).requiredObject(key)
    }

    /// Returns the digest of the parts' digests, each as its bytes.
    private static func digest<Function: HashFunction>(_ type: Function.Type, digests: [String?]) -> String? {
        var function = Function()
        for digest in digests {
            guard let bytes = digest.flatMap(Hex.bytes) else { return nil }
            function.update(data: bytes)
        }
        return Hex.text(function.finalize())
    }

    private func forget() async throws {
        try await session.save(PartsCheckpoint(upload: nil, partSize: plan.partSize, source).encoded())
    }
}

/// The numbers of the parts that an attempt has sent. The mutex owns the state.
private final class SentParts: Sendable {
    let numbers = Mutex<Set<Int>>([])
}

extension SigningAnswer.Part {
    /// Returns true if the part has the size of the local part and the store confirms its bytes.
    func has(_ part: PartPlan.Part, digest: PayloadDigest) -> Bool {
        guard size == part.range.count else { return false }
        if let sha256 { return sha256 == digest.sha256 }
        return md5 != nil && md5 == digest.md5
    }

    /// Returns true if the part has the size of the local part and the store keeps no SHA-256 of its bytes.
    fileprivate func saysOnlyTag(_ part: PartPlan.Part) -> Bool { size == part.range.count && sha256 == nil }
}
