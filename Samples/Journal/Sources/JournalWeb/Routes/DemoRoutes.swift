import Foundation
import Hummingbird
import JournalStorage

/// The routes of a demonstration: they fill an empty journal, and switch faults of the storage.
struct DemoRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.form("/demo/fill", of: parts, use: fill)
        router.form("/demo/fault", of: parts, use: setFault)
        router.form("/demo/kill", of: parts, use: kill)
    }

    @Sendable func fill(_ form: Form, context: JournalContext) async throws -> String {
        guard let fill = parts.options.fillDemo else { throw WebError.noSuchPage }
        guard try await parts.journal.loadRecords(before: nil, limit: 1).isEmpty else {
            throw WebError(.badRequest, message: "This journal already has records. The demo fills only an empty one.")
        }
        try await fill(parts.journal)
        return "/how"
    }

    @Sendable func setFault(_ form: Form, context: JournalContext) async throws -> String {
        guard let faults = parts.options.faults else { throw WebError.noSuchPage }
        guard let fault = DemoStorage.Fault(rawValue: form["fault"]) else {
            throw WebError(.badRequest, message: "Choose a fault on the page How it works.")
        }
        let isOn = form["on"] == "yes"
        faults.set(fault, isOn: isOn)
        if !isOn { parts.rounds?.request(after: FlowFault.cause(fault)) }
        return "/how"
    }

    /// Lets the process be killed soon after the reply.
    @Sendable func kill(_ form: Form, context: JournalContext) async throws -> String {
        guard let killDemo = parts.options.killDemo else { throw WebError.noSuchPage }
        killDemo()
        return "/how"
    }
}
