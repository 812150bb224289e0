import LFSHTTPStorage
import LFSWire

extension SigningAction {
    init(_ request: PresignedRequest, method: String) {
        self.init(
            method: method, href: request.url, header: request.headers,
            expiresIn: request.lifetime.components.seconds,
            proof: request.proof.map { Proof(header: $0.header, value: $0.value) })
    }
}
