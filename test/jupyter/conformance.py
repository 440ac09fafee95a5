"""The samples by which jupyter_kernel_test, Jupyter's own check of a kernel, tries this one; conformance.test.ts runs it."""

import sys
import unittest

import jupyter_kernel_test as conformance

KERNEL = sys.argv.pop(1)


class Kernel(conformance.KernelTests):
    kernel_name = KERNEL
    language_name = "typescript"
    file_extension = ".ts"
    code_hello_world = "console.log('hello, world')"
    code_stderr = "console.error('to stderr')"
    completion_samples = [
        {"text": "aq.fromAr", "matches": ["fromArrow", "fromArrowStream"]},
        {"text": "no_such_name."},
    ]
    complete_code_samples = [
        "1 + 1",
        "const a = 1;",
        "await Promise.resolve(1)",
        "function f(): number {\n  return 1;\n}",
        "for await (const x of []) {}",
    ]
    incomplete_code_samples = ["function f() {", "const a =", "[1,", "`text", "/* text"]
    invalid_code_samples = ["const x = ;", "1 +* 2", "}"]
    code_page_something = "display.page('text for the pager')"
    code_generate_error = "throw new Error('as asked')"
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": "await Promise.resolve('汉字 😀')", "result": "'汉字 😀'"},
        {"code": "aq.table({ bytes: [8] })", "mime": "text/html"},
    ]
    code_display_data = [
        {"code": "display.html('<b>x</b>')", "mime": "text/html"},
        {"code": "display.png(new Uint8Array([1]))", "mime": "image/png"},
        {"code": "display.raw({ 'application/vnd.plotly.v1+json': { data: [], layout: {} } })",
         "mime": "application/vnd.plotly.v1+json"},
    ]
    code_history_pattern = "6 [*] ?"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "aq.table"
    code_clear_output = "display.clear()"


if hasattr(conformance, "IopubWelcomeTests"):

    class Welcome(conformance.IopubWelcomeTests):
        kernel_name = KERNEL
        support_iopub_welcome = True


if __name__ == "__main__":
    unittest.main(verbosity=2)
