import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// Sends the parts of an upload that the signing server has begun, and has it put them together.
///
/// The order that makes it safe: the upload's token is durable before the first part goes out, and the object appears
/// when all parts are there. Of an earlier try nothing is believed but what the store lists and what matches the local
/// bytes.
struct PartedUpload: Sendable {
    let client: SigningClient
    let permits: Permits
    let key: ObjectKey
    let source: UploadSource
    let session: UploadSession
    /// The server's token.
    let upload: String
    let plan: PartPlan
    let wantsMD5: Bool
    /// Whether it was begun so that it may replace an object.
    let replaces: Bool

    /// What it has come to.
    enum End: Sendable {
        case complete(SigningAnswer.Object)
        /// The server does not know it: it was completed, and only the answer was lost; or it was given up.
        case lost
        /// The server does not find this content in what came of it.
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

    /// What became of an upload that the server does not know: when only its last answer was lost, the store's word on
    /// the parts may prove the object, which nobody has to read then.
    private func completed() async throws -> End {
        if replaces {
            // What is there is known or suspected to be damaged.
            try await forget()
            return .lost
        }
        return try await end {
            let digester = SourceDigester(source, kinds)
            var digests: [PayloadDigest] = []
            for number in 1...plan.count {
                digests.append(try await digester.next(Int64(plan.part(number).range.count)))
            }
            try await digester.requireWhole()
            return try await complete(digests)
        }
    }

    private func state() async throws -> [SigningAnswer.Part] {
        guard let present = try await client.ask(.state, object).requireNoError(key).present else {
            throw SigningAnswer.nonsense(key)
        }
        guard present.count <= plan.count else {
            throw StorageError(
                .serverError, "The signing server lists \(present.count) of \(plan.count) parts.", key: key)
        }
        return present
    }

    /// What is compared of each part.
    private var kinds: PayloadDigest.Kinds { wantsMD5 ? [.sha256, .md5] : .sha256 }

    private var object: SigningObject {
        var object = SigningObject()
        object.upload = upload
        return object
    }

    private func run(present: [SigningAnswer.Part]) async throws -> End {
        try await end {
            let sent = SentParts()
            let digests = try await sendParts(present, sent).digests
            do {
                return try await complete(digests)
            } catch let failure as SigningFailure where failure.code == .incomplete {
                let (digests, areTagsMD5) = try await sendParts(state(), sent)
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
            // The store does not know the upload any more. Its server says whether that is so.
            guard try await client.ask(.state, object).error?.code == .lostUpload else { throw failure }
            try await forget()
            return .lost
        } catch let error as StorageError where error.code == .sourceChanged {
            // Nobody can complete it any more, and what the store has of it costs money.
            _ = try await client.ask(.abort, object).requireNoError(key)
            try await forget()
            throw error
        }
    }

    /// Sends the parts that are not there.
    ///
    /// - Parameter sent: those that this try has sent before. The store has taken them, so that a tag of theirs which
    ///   is another one is no MD5.
    /// - Returns: the digests of all parts, in order, and whether no such tag was seen.
    private func sendParts(
        _ present: [SigningAnswer.Part], _ sent: SentParts
    ) async throws -> (digests: [PayloadDigest], areTagsMD5: Bool) {
        let there = Dictionary(present.map { ($0.number, $0) }) { first, _ in first }
        let earlier = sent.numbers.withLock { $0 }
        let areTagsMD5 = Mutex(true)
        let all = Mutex<[PayloadDigest]>([])
        let progress = PartProgress(session)
        let digester = SourceDigester(source, kinds)
        try await PartSending(plan, digester, permits).run { part, digest in
            all.withLock { $0.append(digest) }
            guard let found = there[Int64(part.number)] else { return false }
            if !found.has(part, digest) {
                guard earlier.contains(part.number), found.saysOnlyTag(part) else { return false }
                areTagsMD5.withLock { $0 = false }
            }
            progress.has(part)
            return true
        } send: { part, digest in
            do {
                try await send(part, digest, progress)
                sent.numbers.withLock { _ = $0.insert(part.number) }
                progress.has(part)
            } catch {
                progress.lost(part)
                throw error
            }
        }
        return (all.withLock { $0 }, areTagsMD5.withLock { $0 })
    }

    private func send(_ part: PartPlan.Part, _ digest: PayloadDigest, _ progress: PartProgress) async throws {
        do {
            try await sendOnce(part, digest, progress)
        } catch let failure as StoreFailure where failure.mayBeSignature {
            try await sendOnce(part, digest, progress)
        }
    }

    private func sendOnce(_ part: PartPlan.Part, _ digest: PayloadDigest, _ progress: PartProgress) async throws {
        var object = object
        object.number = Int64(part.number)
        object.size = Int64(part.range.count)
        (object.sha256, object.md5) = (digest.sha256, digest.md5)
        let action = try await client.ask(.parts, object).requiredAction(.parts, key)
        var request = try StoreRequest(
            action, .put, body: .source(source, part.range), requiresTLS: client.base.origin.isSecure, about: key
        ).request
        request.onProgress = { progress.moved(part, to: $0) }
        let response = try await client.send(request, about: key)
        // Where the store tells nothing, the server compares all parts when it puts them together. A tag that is
        // another one tells nothing: it may be no MD5.
        if let proof = action.proof, proof.header.lowercased() != "etag",
            !proof.isMet(by: response.headers[proof.header])
        {
            throw StorageError.notProven(key)
        }
    }

    /// - Parameter withMD5: false for the server not to compare the parts' tags, and to read what it has made.
    /// - Throws: ``SigningFailure``, also with ``WireFailure/Code/incomplete``.
    private func complete(_ digests: [PayloadDigest], withMD5: Bool = true) async throws -> SigningAnswer.Object {
        var object = object
        object.partsSHA256 = Self.digest(SHA256.self, digests.map(\.sha256))
        if wantsMD5, withMD5 { object.partsMD5 = Self.digest(Insecure.MD5.self, digests.map(\.md5)) }
        return try await client.askPatiently(.complete, object).requiredObject(key)
    }

    /// Over the parts' digests, each as its bytes.
    private static func digest<Function: HashFunction>(_ type: Function.Type, _ digests: [String?]) -> String? {
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

/// The numbers of the parts that a try has sent. Owner: the mutex.
private final class SentParts: Sendable {
    let numbers = Mutex<Set<Int>>([])
}

extension SigningAnswer.Part {
    /// Whether it has the size of the local part, and its bytes by the store's own word.
    fileprivate func has(_ part: PartPlan.Part, _ digest: PayloadDigest) -> Bool {
        guard size == part.range.count else { return false }
        if let sha256 { return sha256 == digest.sha256 }
        return md5 != nil && md5 == digest.md5
    }

    /// Whether it has the size of the local part, and the store says nothing sure of its bytes.
    fileprivate func saysOnlyTag(_ part: PartPlan.Part) -> Bool { size == part.range.count && sha256 == nil }
}
