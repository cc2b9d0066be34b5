;; Functions with a resource in their signature, which values cannot express, beside one without.
(module
  (import "[export]fixture:resource-signature/tokens@0.1.0" "[resource-new]token"
    (func $new_token (param i32) (result i32)))

  (func (export "fixture:resource-signature/tokens@0.1.0#plain") (result i32) (i32.const 7))

  (func (export "fixture:resource-signature/tokens@0.1.0#make") (result i32)
    (call $new_token (i32.const 42)))

  (func (export "fixture:resource-signature/tokens@0.1.0#weigh") (param $token i32) (result i32)
    (local.get $token)))
